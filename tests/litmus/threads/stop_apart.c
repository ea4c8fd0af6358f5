// Five threads fail independently, each in its own way: with --all one execution shows all failures.
// restart: memory fork
// expect: exact executions=1 kinds=abort,assertion,assertion,crash,double-lock dfs=no
#include "litmus.h"

MUTEX(held);

static void *asserts(void *arg)
{
  assert(arg != NULL);
  return arg;
}

static void *aborts(void *arg)
{
  abort();
  return arg;
}

static void *faults(void *arg)
{
  *(volatile int *)arg = 1;
  return arg;
}

static void *locks_twice(void *arg)
{
  pthread_mutex_lock(&held);
  pthread_mutex_lock(&held);
  return arg;
}

int main(void)
{
  thread_fn f[] = {asserts, aborts, faults, locks_twice};
  for (int i = 0; i < 4; i++) spawn(f[i], NULL);
  assert(f[0] == NULL);
  return 0;
}
