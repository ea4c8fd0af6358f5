// Return values: locked again, tried, timed out, invalid times, and recursive readers.
// restart: memory fork
// expect: clean executions=50
// args: --strategy random
// expect: clean executions=1
// args: --strategy optimal
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static struct timespec in(clockid_t clock, int ms)
{
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1000000L;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void *against_reader(void *arg)
{
  struct timespec t = in(CLOCK_REALTIME, 5), m = in(CLOCK_MONOTONIC, 5);
  assert(pthread_rwlock_tryrdlock(&lock) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
  assert(pthread_rwlock_timedwrlock(&lock, &t) == ETIMEDOUT);
  assert(pthread_rwlock_clockwrlock(&lock, CLOCK_MONOTONIC, &m) == ETIMEDOUT);
  t = in(CLOCK_REALTIME, 5);
  assert(pthread_rwlock_timedrdlock(&lock, &t) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  return arg;
}

static void *against_writer(void *arg)
{
  struct timespec t = in(CLOCK_REALTIME, 5), m = in(CLOCK_MONOTONIC, 5), bad = {1, -1};
  assert(pthread_rwlock_tryrdlock(&lock) == EBUSY);
  assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
  assert(pthread_rwlock_timedrdlock(&lock, &t) == ETIMEDOUT);
  assert(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, &m) == ETIMEDOUT);
  assert(pthread_rwlock_timedwrlock(&lock, &bad) == EINVAL);
  return arg;
}

int main(void)
{
  pthread_rwlockattr_t attr;
  assert(pthread_rwlockattr_init(&attr) == 0);
  assert(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NP) == 0);
  assert(pthread_rwlock_init(&lock, &attr) == 0);
  assert(pthread_rwlock_rdlock(&lock) == 0);
  assert(pthread_rwlock_rdlock(&lock) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  join(spawn(against_reader, NULL));
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_wrlock(&lock) == 0);
  assert(pthread_rwlock_wrlock(&lock) == EDEADLK);
  assert(pthread_rwlock_rdlock(&lock) == EDEADLK);
  join(spawn(against_writer, NULL));
  assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_destroy(&lock) == 0);
  return 0;
}
