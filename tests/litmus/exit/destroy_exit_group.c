// The program ends its process by a direct system call: an ordinary end, with its status.
// native: no
// restart: memory fork
// expect: clean executions=20
// args: --all --ignore exit
// expect: goes-on executions=20 kinds=exit
// replays: 1
#include "litmus.h"
#include <sys/syscall.h>

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&state)) syscall(SYS_exit_group, 5);
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
