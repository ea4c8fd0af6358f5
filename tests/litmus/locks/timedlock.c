// Both outcomes of a timed lock. By argument: which one is asserted; none: either is fine.
// expect: kind=assertion
// argv: never-times-out
// where: function=worker line=@got
// expect: kind=assertion
// argv: always-times-out
// where: function=worker line=@out
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);
static char what = 'x';

static void *holder(void *arg)
{
  pthread_mutex_lock(&lock);
  sleep(2);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *worker(void *arg)
{
  struct timespec at;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec++;
  int rc = pthread_mutex_timedlock(&lock, &at);
  assert(rc == 0 || rc == ETIMEDOUT);
  if (what == 'n') assert(rc == 0); /* @got */
  if (what == 'a') assert(rc != 0); /* @out */
  if (rc == 0) pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  if (argc > 1) what = argv[1][0];
  both(holder, worker);
  return 0;
}
