// An 8-byte write over one byte in the middle.
// expect: kind=data-race
#include "litmus.h"

union {
  uint64_t whole;
  char part[8];
} u;

static void *one(void *arg)
{
  u.whole = 1;
  return arg;
}

static void *two(void *arg)
{
  u.part[5] = 2;
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
