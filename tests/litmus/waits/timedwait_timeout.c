// A timed wait times out when the signal comes too late.
// restart: memory fork
// expect: kind=assertion
// where: function=waiter line=@timeout
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int flag;

static void *waiter(void *arg)
{
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 1;
  pthread_mutex_lock(&lock);
  int rc = 0;
  while (!flag && rc == 0) rc = pthread_cond_timedwait(&cond, &lock, &at);
  assert(rc != ETIMEDOUT); /* @timeout */
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *signaller(void *arg)
{
  sleep(5);
  pthread_mutex_lock(&lock);
  flag = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(waiter, signaller);
  return 0;
}
