// A new thread has the floating-point environment of its creator, and changes only its own.
// expect: exact executions=1
// expect: clean executions=20
// cflags: -lm
#include <fenv.h>

#include "litmus.h"

static void *up(void *arg)
{
  assert(fegetround() == FE_UPWARD);
  fesetround(FE_DOWNWARD);
  return arg;
}

int main(void)
{
  fesetround(FE_UPWARD);
  both(up, up);
  assert(fegetround() == FE_UPWARD);
  return 0;
}
