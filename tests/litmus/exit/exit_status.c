// An exit status other than 0 is a finding only when asked for.
// native: no
// restart: memory fork
// expect: kind=exit
// args: --exit-status
// says: 3
// expect: clean executions=200
#include "litmus.h"

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&state)) exit(3);
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
