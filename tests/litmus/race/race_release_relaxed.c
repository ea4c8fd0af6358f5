// The load must be an acquire.
// expect: kind=data-race
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
  (void)arg;
  if (peek(&flag)) return (void *)(long)data;
  return NULL;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
