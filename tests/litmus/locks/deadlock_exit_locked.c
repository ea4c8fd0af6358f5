// A thread ends and takes the lock with it.
// expect: kind=deadlock
// where: function=main line=@lock role=waits
// where: function=worker line=@held role=holds
#include "litmus.h"

MUTEX(lock);

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock); /* @held */
  return arg;
}

int main(void)
{
  join(spawn(worker, NULL));
  pthread_mutex_lock(&lock); /* @lock */
  return 0;
}
