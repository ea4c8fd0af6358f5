// An overwritten return address.
// native: no
// restart: memory fork
// cflags: -fno-stack-protector -U_FORTIFY_SOURCE
// expect: goes-on executions=20 kinds=crash|abort|stack-overflow|hang
// args: --hang-timeout 2s
#include "litmus.h"

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

__attribute__((noinline)) static void smash(volatile uint64_t *p)
{
  for (int i = 0; i < 40; i++) __asm__ volatile("movq %0, (%1)" : : "r"(0x4141414141414141), "r"(p + i));
}

__attribute__((noinline)) static void victim(void)
{
  uint64_t small[1];
  smash(small);
}

static void *user(void *arg)
{
  if (peek(&state)) victim();
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
