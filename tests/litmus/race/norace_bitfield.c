// Two bit-fields with a zero-width one between them are different memory locations.
// opt: -O0 -O2
// expect: clean executions=200
#include "litmus.h"

static struct {
  unsigned a : 3;
  unsigned : 0;
  unsigned b : 5;
} flags;

static void *one(void *arg)
{
  flags.a = 1;
  return arg;
}

static void *two(void *arg)
{
  flags.b = 1;
  return arg;
}

int main(void)
{
  both(one, two);
  assert(flags.a == 1 && flags.b == 1);
  return 0;
}
