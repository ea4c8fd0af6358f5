// With --all the same race in many executions is one finding; two different ones are two.
// expect: goes-on executions=200 kinds=data-race
#include "litmus.h"

int x;

static void *worker(void *arg)
{
  x = 1;
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
