// setjmp and longjmp inside threads, across instrumented calls.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"
#include <setjmp.h>

__attribute__((noinline)) static void deeper(jmp_buf env, int n)
{
  sched_yield();
  if (n == 0) longjmp(env, 5);
  deeper(env, n - 1);
}

static void *worker(void *arg)
{
  for (int i = 0; i < 100; i++) {
    jmp_buf env;
    int rc = setjmp(env);
    if (rc == 0) deeper(env, 3);
    assert(rc == 5);
  }
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
