// Bytes next to each other that different atomics access do not publish for each other.
// opt: -O0 -O2
// expect: kind=data-race
#include "litmus.h"

int data, seen; /* not static: the compiler must keep them */
static union {
  uint64_t whole;
  uint32_t part[2];
} a;

static void *writer(void *arg)
{
  __atomic_store_n(&a.whole, 1, __ATOMIC_RELEASE);
  data = 42;
  __atomic_store_n(&a.part[0], 2, __ATOMIC_RELEASE);
  return arg;
}

static void *reader(void *arg)
{
  seen = __atomic_load_n(&a.part[1], __ATOMIC_ACQUIRE) == 0 && data == 42;
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
