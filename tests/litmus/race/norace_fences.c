// A release fence before a relaxed store, an acquire fence after a relaxed load.
// expect: clean executions=500
#include "litmus.h"

static int flag, data;

static void *writer(void *arg)
{
  data = 42;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  poke(&flag, 1);
  return arg;
}

static void *reader(void *arg)
{
  if (peek(&flag)) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    assert(data == 42);
  }
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
