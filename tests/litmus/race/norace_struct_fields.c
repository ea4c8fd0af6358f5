// Two structures in an array, one per thread, copied as a whole.
// opt: -O0 -O2
// expect: clean executions=200
#include "litmus.h"

struct big {
  int v[33];
};
static struct big from, slot[2];

static void *one(void *arg)
{
  slot[0] = from;
  return arg;
}

static void *two(void *arg)
{
  slot[1] = from;
  slot[1].v[0] = 3;
  return arg;
}

int main(void)
{
  from.v[32] = 7;
  both(one, two);
  assert(slot[0].v[32] == 7 && slot[1].v[32] == 7);
  return 0;
}
