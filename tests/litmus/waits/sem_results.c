// Return values: values, nothing to take, timed out, invalid times, overflow.
// restart: memory fork
// expect: clean executions=30
// args: --strategy random
#include "litmus.h"
#include <limits.h>
#include <semaphore.h>

static struct timespec in(clockid_t clock, int ms)
{
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ms * 1000000L;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static sem_t s, full;

static void *late_post(void *arg)
{
  usleep(20000);
  sem_post(&s);
  return arg;
}

static void *idle(void *arg) { return arg; }

int main(void)
{
  int v = -1;
  join(spawn(idle, NULL));
  assert(sem_init(&s, 0, 1) == 0 && sem_init(&full, 0, INT_MAX) == 0);
  assert(sem_init(&full, 0, (unsigned)INT_MAX + 1) == -1 && errno == EINVAL);
  assert(sem_getvalue(&s, &v) == 0 && v == 1);
  assert(sem_trywait(&s) == 0);
  assert(sem_trywait(&s) == -1 && errno == EAGAIN);
  assert(sem_getvalue(&s, &v) == 0 && v == 0);
  struct timespec t = in(CLOCK_REALTIME, 10), bad = {0, 1000000000};
  assert(sem_timedwait(&s, &t) == -1 && errno == ETIMEDOUT);
  t = in(CLOCK_MONOTONIC, 10);
  assert(sem_clockwait(&s, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT);
  assert(sem_timedwait(&s, &bad) == -1 && errno == EINVAL);
  assert(sem_post(&full) == -1 && errno == EOVERFLOW);
  pthread_t p = spawn(late_post, NULL);
  t = in(CLOCK_REALTIME, 500);
  assert(sem_timedwait(&s, &t) == 0);
  join(p);
  assert(sem_getvalue(&s, &v) == 0 && v == 0);
  return 0;
}
