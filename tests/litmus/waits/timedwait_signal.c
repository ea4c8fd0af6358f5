// The same wait, ended by a signal.
// expect: kind=assertion
// where: function=waiter line=@signalled
#include "litmus.h"

MUTEX(lock);
COND(cond);

static void *waiter(void *arg)
{
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 1;
  pthread_mutex_lock(&lock);
  int rc = pthread_cond_timedwait(&cond, &lock, &at);
  assert(rc == ETIMEDOUT); /* @signalled */
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
