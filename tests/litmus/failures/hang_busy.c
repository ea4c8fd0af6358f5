// A busy loop in a function that is not instrumented.
// native: no
// expect: kind=hang
// args: --hang-timeout 1s
// replays: 1
// where: function=wait_for_it
#include "litmus.h"

static volatile int never;

__attribute__((noinline, no_sanitize("thread"))) static void wait_for_it(void)
{
  while (!never)
    ;
}

static void *user(void *arg)
{
  wait_for_it();
  return arg;
}

int main(void)
{
  join(spawn(user, NULL));
  return 0;
}
