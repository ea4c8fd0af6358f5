// A wild write over the memory that is shared with the supervisor.
// native: no
// expect: goes-on executions=10 kinds=crash|abort|hang|exit|assertion
// args: --hang-timeout 1s
// replays: 0
#include "litmus.h"

static int state;

static void *other(void *arg)
{
  poke(&state, 1);
  return arg;
}

static void smash(void)
{
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512];
  unsigned long from = 0, to, best = 0;
  while (fgets(line, sizeof line, f))
    if (sscanf(line, "%lx-%lx rw-s", &from, &to) == 2 && strstr(line, "rw-s") &&
        from >= 0x300000000000)
      best = from;
  if (best)
    for (unsigned long p = best; p < best + 4096; p += 8) __asm__ volatile("movq %0, (%1)" : : "r"(0x4242424242424242), "r"(p));
  abort();
}

static void *user(void *arg)
{
  if (peek(&state)) smash();
  return arg;
}

int main(void)
{
  both(other, user);
  return 0;
}
