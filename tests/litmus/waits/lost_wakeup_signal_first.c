// The signal comes before the wait, and nothing remembers it.
// restart: memory fork
// expect: kind=lost-wakeup
// where: function=waiter line=@wait role=waits thread=T1
#include "litmus.h"

MUTEX(lock);
COND(cond);

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  pthread_cond_wait(&cond, &lock); /* @wait */
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *signaller(void *arg)
{
  pthread_mutex_lock(&lock);
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(waiter, signaller);
  return 0;
}
