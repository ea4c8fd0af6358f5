// Two locks in two orders, but one is timed: no deadlock.
// expect: clean executions=500
#include "litmus.h"

MUTEX(a);
MUTEX(b);

static void *one(void *arg)
{
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return arg;
}

static void *two(void *arg)
{
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_nsec = 0;
  at.tv_sec++;
  pthread_mutex_lock(&b);
  if (pthread_mutex_timedlock(&a, &at) == 0) pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
