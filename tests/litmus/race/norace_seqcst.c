// Sequentially consistent atomics, C11 style.
// expect: clean executions=500
#include "litmus.h"
#include <stdatomic.h>

static atomic_int flag;
static int data;

static void *writer(void *arg)
{
  data = 42;
  flag = 1;
  return arg;
}

static void *reader(void *arg)
{
  while (!flag) sched_yield();
  assert(data == 42);
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
