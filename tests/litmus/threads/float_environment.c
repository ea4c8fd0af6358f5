// A new thread has the floating-point environment of its creator, and changes only its own.
// expect: exact executions=1
// expect: clean executions=20
#include <xmmintrin.h>

#include "litmus.h"

static void *up(void *arg)
{
  assert(_MM_GET_ROUNDING_MODE() == _MM_ROUND_UP);
  _MM_SET_ROUNDING_MODE(_MM_ROUND_DOWN);
  return arg;
}

int main(void)
{
  _MM_SET_ROUNDING_MODE(_MM_ROUND_UP);
  both(up, up);
  assert(_MM_GET_ROUNDING_MODE() == _MM_ROUND_UP);
  return 0;
}
