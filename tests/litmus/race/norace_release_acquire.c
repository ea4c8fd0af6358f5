// A release store and an acquire load publish what was written before.
// opt: -O0 -O2
// expect: clean executions=500
#include "litmus.h"

static int flag, data;

static void *writer(void *arg)
{
  data = 42;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  return arg;
}

static void *reader(void *arg)
{
  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) assert(data == 42);
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
