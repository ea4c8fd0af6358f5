// Unlocked although it was not locked.
// native: no
// expect: kind=unlock-not-owner
// where: function=worker line=@unlock
#include "litmus.h"

MUTEX(lock);

static void *worker(void *arg)
{
  pthread_mutex_unlock(&lock); /* @unlock */
  return arg;
}

int main(void)
{
  join(spawn(worker, NULL));
  return 0;
}
