// No thread signals: the wait can only end by its time-out, at once, in virtual time, and the clock has advanced.
// restart: memory fork
// native: no
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);
COND(cond);

static void *waiter(void *arg)
{
  struct timespec at, now;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec += 3600;
  pthread_mutex_lock(&lock);
  assert(pthread_cond_timedwait(&cond, &lock, &at) == ETIMEDOUT);
  clock_gettime(CLOCK_REALTIME, &now);
  assert(now.tv_sec > at.tv_sec || (now.tv_sec == at.tv_sec && now.tv_nsec >= at.tv_nsec));
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(waiter, waiter);
  return 0;
}
