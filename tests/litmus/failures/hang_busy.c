// A busy loop in assembly, which is not instrumented.
// native: no
// expect: kind=hang
// args: --hang-timeout 1s
// replays: 1
// where: function=wait_for_it
#include "litmus.h"

__attribute__((noinline)) static void wait_for_it(void)
{
  __asm__ volatile("1: pause\n\tjmp 1b");
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
