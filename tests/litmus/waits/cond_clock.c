// A condition variable on the monotonic clock; an invalid time; waiting without the lock.
// expect: clean executions=100
// native: no
// expect: kind=unlock-not-owner
// argv: unlocked
// where: function=main line=@wait
#include "litmus.h"

MUTEX(lock);

int main(int argc, char **argv)
{
  pthread_cond_t cond;
  pthread_condattr_t attr;
  struct timespec at, now;
  (void)argv;
  pthread_condattr_init(&attr);
  assert(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0);
  pthread_cond_init(&cond, &attr);
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += 5;
  pthread_mutex_lock(&lock);
  assert(pthread_cond_timedwait(&cond, &lock, &at) == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &now);
  assert(now.tv_sec >= at.tv_sec && now.tv_sec < at.tv_sec + 5);
  at.tv_nsec = -1;
  assert(pthread_cond_timedwait(&cond, &lock, &at) == EINVAL);
  pthread_mutex_unlock(&lock);
  if (argc > 1) pthread_cond_wait(&cond, &lock); /* @wait */
  return 0;
}
