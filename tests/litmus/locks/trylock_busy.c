// Both outcomes of trylock happen: some schedule finds the lock taken.
// expect: kind=assertion
// says: rc == 0
#include "litmus.h"

MUTEX(lock);

static void *worker(void *arg)
{
  int rc = pthread_mutex_trylock(&lock);
  assert(rc == 0);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
