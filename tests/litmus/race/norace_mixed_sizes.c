// Bytes that are stored as a whole and loaded as parts, and the other way round, publish as any atomic does.
// opt: -O0 -O2
// expect: clean executions=500
#include "litmus.h"

int data[2];
static union {
  uint64_t whole;
  uint32_t part[2];
} a, b;

static void *writer(void *arg)
{
  data[0] = 42;
  __atomic_store_n(&a.whole, 0x100000001, __ATOMIC_RELEASE);
  data[1] = 42;
  __atomic_store_n(&b.part[1], 1, __ATOMIC_RELEASE);
  return arg;
}

static void *reader(void *arg)
{
  if (__atomic_load_n(&a.part[1], __ATOMIC_ACQUIRE)) assert(data[0] == 42);
  if (__atomic_load_n(&b.whole, __ATOMIC_ACQUIRE)) assert(data[1] == 42);
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
