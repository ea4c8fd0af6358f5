// A stack smashed upwards, over the return address and everything above.
// native: no
// restart: memory fork
// cflags: -fno-stack-protector -U_FORTIFY_SOURCE
// expect: goes-on executions=20 kinds=crash|abort|stack-overflow|hang
// args: --hang-timeout 2s
// replays: 1
#include "litmus.h"

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

__attribute__((noinline)) static void smash(volatile char *p)
{
  for (;;) __asm__ volatile("movb $0x41, (%0)" : : "r"(p++));
}

static void *user(void *arg)
{
  char small[8];
  if (peek(&state)) smash(small);
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
