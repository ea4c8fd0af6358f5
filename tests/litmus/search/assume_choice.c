// The assumption leaves three of nine pairs of choices; the others are not counted.
// restart: memory fork
// expect: exact executions=3 infeasible=6 states=1
// native: no
#include "heddle.h"
#include "litmus.h"

void hd_rt_observe(uint64_t value);
static int a, b;

static void *left(void *arg)
{
  a = hd_choose(3);
  return arg;
}

static void *right(void *arg)
{
  b = hd_choose(3);
  return arg;
}

int main(void)
{
  both(left, right);
  hd_assume(a + b == 2);
  hd_rt_observe(7);
  assert(a + b == 2);
  return 0;
}
