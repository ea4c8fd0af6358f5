// A loop that no hook can see.
// native: no
// restart: memory fork
// compilers: gcc
// expect: kind=hang
// args: --hang-timeout 1s
// replays: 1
// where: function=user
#include "litmus.h"

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&state)) __asm__ volatile("1: pause; jmp 1b"); /* @loop */
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
