// Only the writer has its fence.
// expect: kind=data-race
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
  (void)arg;
  if (peek(&flag)) return (void *)(long)data;
  return NULL;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
