// A second caller of pthread_once waits for the first to finish, and many once-controls do not disturb each other.
// expect: clean executions=500
#include "litmus.h"

static pthread_once_t a = PTHREAD_ONCE_INIT, b = PTHREAD_ONCE_INIT;
static int value, calls;

static void init_b(void) { __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST); }

static void init_a(void)
{
  pthread_once(&b, init_b);
  sched_yield();
  value = 5;
  __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
  pthread_once(&b, init_b);
  pthread_once(&a, init_a);
  assert(value == 5 && peek(&calls) == 2);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
