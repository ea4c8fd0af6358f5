// The fixed versions of the crash programs.
// restart: memory fork
// expect: clean executions=300
#include "litmus.h"

static int thing = 5, *box, parts = 1;

static void *init(void *arg)
{
  poke(&box, &thing);
  poke(&parts, 2);
  return arg;
}

static void *user(void *arg)
{
  int *p = peek(&box);
  if (p) assert(*p == 5);
  assert(100 / peek(&parts) >= 50);
  return arg;
}

int main(void)
{
  both(init, user);
  return 0;
}
