// A normal mutex locked again by its owner.
// native: no
// expect: kind=double-lock
// where: function=inner line=@again
#include "litmus.h"

MUTEX(lock);

static void inner(void)
{
  pthread_mutex_lock(&lock); /* @again */
  pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  inner();
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  join(spawn(worker, NULL));
  return 0;
}
