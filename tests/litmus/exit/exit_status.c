// An exit status other than the expected one is a finding.
// native: no
// restart: memory fork
// expect: kind=exit
// says: 3
// expect: kind=exit
// args: --exit-status=3
// says: 0
// expect: clean executions=200
// args: --ignore exit
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
