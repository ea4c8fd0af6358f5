// A mutex locked after it was destroyed.
// native: no
// expect: kind=destroy-in-use
// where: function=worker line=@lock
#include "litmus.h"

static pthread_mutex_t lock;
static int gone;

static void *worker(void *arg)
{
  if (__atomic_load_n(&gone, __ATOMIC_ACQUIRE)) pthread_mutex_lock(&lock); /* @lock */
  return arg;
}

int main(void)
{
  pthread_mutex_init(&lock, NULL);
  pthread_t t = spawn(worker, NULL);
  pthread_mutex_destroy(&lock);
  __atomic_store_n(&gone, 1, __ATOMIC_RELEASE);
  join(t);
  return 0;
}
