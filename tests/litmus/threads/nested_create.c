// Threads are named after their creators.
// expect: kind=assertion
// where: function=inner thread=T1.2
#include "litmus.h"

static void *nothing(void *arg) { return arg; }

static void *inner(void *arg)
{
  assert(!arg);
  return arg;
}

static void *outer(void *arg)
{
  join(spawn(nothing, NULL));
  join(spawn(inner, &arg));
  return arg;
}

int main(void)
{
  join(spawn(outer, NULL));
  return 0;
}
