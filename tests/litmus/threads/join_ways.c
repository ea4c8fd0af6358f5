// Joining without waiting, or with a time limit.
// restart: memory fork
// expect: clean executions=100
// args: --strategy random
// expect: kind=assertion
// args: --strategy optimal --timeouts any
// expect: kind=assertion
// argv: sure
// where: function=main line=@sure
#include "litmus.h"

static pthread_barrier_t gate;

static void *quick(void *arg) { return arg; }

static void *slow(void *arg)
{
  pthread_barrier_wait(&gate);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  void *ret = NULL;
  struct timespec t = {0, 0};
  pthread_t q = spawn(quick, &gate);
  int e = pthread_tryjoin_np(q, &ret);
  assert(argc == 1 || e == 0); /* @sure */
  assert(e == 0 || e == EBUSY);
  if (e) assert(pthread_join(q, &ret) == 0);
  assert(ret == &gate);
  pthread_barrier_init(&gate, NULL, 2);
  pthread_t s = spawn(slow, &ret);
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec++;
  assert(pthread_timedjoin_np(s, NULL, &t) == ETIMEDOUT);
  clock_gettime(CLOCK_MONOTONIC, &t);
  t.tv_sec++;
  assert(pthread_clockjoin_np(s, NULL, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
  assert(pthread_tryjoin_np(s, NULL) == EBUSY);
  pthread_barrier_wait(&gate);
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec++;
  assert(pthread_timedjoin_np(s, &ret, &t) == 0 && ret == &ret);
  return 0;
}
