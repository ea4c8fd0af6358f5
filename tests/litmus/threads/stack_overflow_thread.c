// Infinite recursion in a thread.
// opt: -O0 -O1
// restart: memory fork
// expect: kind=stack-overflow
// where: function=deeper
#include "litmus.h"

static int state;

__attribute__((noinline)) static int deeper(int n)
{
  volatile char pad[512];
  pad[0] = (char)n;
  if (n < 0) return 0;
  return deeper(n + 1) + pad[0];
}

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  (void)arg;
  if (peek(&state)) return (void *)(long)deeper(1);
  return NULL;
}

int main(void)
{
  both(other, user);
  return 0;
}
