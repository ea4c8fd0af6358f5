// The writer's fence comes after the store, where it orders nothing.
// expect: kind=data-race
#include "litmus.h"

static int flag, data;

static void *writer(void *arg)
{
  data = 42;
  poke(&flag, 1);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  if (!peek(&flag)) return NULL;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  return (void *)(long)data;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
