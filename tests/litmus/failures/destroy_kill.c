// The program kills itself with a signal that cannot be caught.
// native: no
// restart: memory fork
// expect: goes-on executions=20 kinds=crash|abort|exit
// replays: 1
#include "litmus.h"
#include <signal.h>

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&state)) kill(getpid(), SIGKILL);
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
