// The same through a volatile.
// opt: -O0 -O2
// expect: kind=assertion
// args: --ignore data-race
#include "litmus.h"

volatile int counter;

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
