// Two bit-fields that share a byte: writing one rewrites the other.
// opt: -O0 -O2
// expect: kind=data-race
#include "litmus.h"

struct {
  unsigned a : 3;
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
  return 0;
}
