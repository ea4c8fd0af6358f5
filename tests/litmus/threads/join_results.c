// Joining: results, twice is an error, a detached thread cannot be joined, the end before the join.
// expect: clean executions=200
#include "litmus.h"

static void *worker(void *arg)
{
  if (arg == (void *)2L) pthread_exit((void *)20L);
  return (void *)10L;
}

int main(void)
{
  void *r;
  pthread_t a = spawn(worker, (void *)1L), b = spawn(worker, (void *)2L);
  for (int i = 0; i < 4; i++) sched_yield();
  assert(pthread_join(b, &r) == 0 && r == (void *)20L);
  assert(pthread_join(a, &r) == 0 && r == (void *)10L);
  a = spawn(worker, NULL);
  assert(pthread_detach(a) == 0);
  return 0;
}
