// trylock fails, and the data is accessed anyway.
// expect: kind=data-race
// where: function=worker line=@touch
#include "litmus.h"

MUTEX(lock);
int counter;

static void *worker(void *arg)
{
  int rc = pthread_mutex_trylock(&lock);
  counter++; /* @touch */
  if (rc == 0) pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
