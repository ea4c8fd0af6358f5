// The same char among neighbours.
// expect: kind=data-race
// says: (1 byte)
#include "litmus.h"

char c[8];

static void *one(void *arg)
{
  c[4] = 1;
  return arg;
}

static void *two(void *arg)
{
  c[3] = 1;
  c[4] = 2;
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
