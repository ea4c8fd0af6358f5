// An illegal instruction, as compilers emit for unreachable code.
// expect: kind=crash
// where: function=user line=@trap
// says: SIGILL
#include "litmus.h"

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&state)) __builtin_trap(); /* @trap */
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
