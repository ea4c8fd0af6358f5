// The program removes access to its own code.
// native: no
// expect: goes-on executions=10 kinds=crash
// args: --hang-timeout 2s
// replays: 1
#include "litmus.h"
#include <sys/mman.h>

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void *user(void *arg)
{
  uintptr_t code = (uintptr_t)other & ~4095ul;
  if (peek(&state)) mprotect((void *)code, 4096, PROT_NONE);
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
