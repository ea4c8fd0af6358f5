// main holds the lock that the thread it joins needs.
// expect: kind=deadlock
// where: function=worker line=@lock role=waits held_by=T0
// where: thread=T0 role=waits
#include "litmus.h"

MUTEX(lock);

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock); /* @lock */
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_mutex_lock(&lock);
  pthread_t t = spawn(worker, NULL);
  join(t);
  pthread_mutex_unlock(&lock);
  return 0;
}
