// An atomic store and a plain load of the same variable.
// expect: kind=data-race
#include "litmus.h"

long value;

static void *writer(void *arg)
{
  __atomic_store_n(&value, 1, __ATOMIC_SEQ_CST);
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  return (void *)value;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
