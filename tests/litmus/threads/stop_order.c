// What a thread does after another one has failed does not depend on that failure; what depends on it is not reached.
// restart: memory fork
// expect: exact executions=4 kinds=assertion,assertion
#include "litmus.h"

static int x, y;

static void *first(void *arg)
{
  poke(&x, 1);
  assert(peek(&y) == 0);
  poke(&x, 2);
  return arg;
}

static void *second(void *arg)
{
  poke(&y, 1);
  int seen = peek(&x);
  assert(seen != 1);
  return arg;
}

int main(void)
{
  both(first, second);
  return 0;
}
