// Infinite recursion in the first thread.
// restart: memory fork
// expect: kind=stack-overflow
// where: function=deeper thread=T0
#include "litmus.h"

__attribute__((noinline)) static int deeper(int n)
{
  volatile char pad[512];
  pad[0] = (char)n;
  if (n < 0) return 0;
  return deeper(n + 1) + pad[0];
}

static void *worker(void *arg) { return arg; }

int main(void)
{
  join(spawn(worker, NULL));
  return deeper(1);
}
