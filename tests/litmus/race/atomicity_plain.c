// A lost update through a plain x++, with race reports off: it must be two steps in both compilers.
// opt: -O0 -O1 -O2
// expect: kind=assertion
// args: --ignore data-race
#include "litmus.h"

int counter;

static void *worker(void *arg)
{
  counter++;
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(counter == 2);
  return 0;
}
