// A home-made "only once" in C.
// expect: kind=data-race
#include "litmus.h"

static int expensive(void)
{
  static int ready, value;
  if (!ready) {
    value = 42;
    ready = 1;
  }
  return value;
}

static void *worker(void *arg)
{
  expensive();
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
