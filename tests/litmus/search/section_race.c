// Sections are ordered with each other, and with nothing else: an access outside races with one inside.
// restart: memory fork
// expect: exact executions=2
// argv: both
// expect: exact executions=2 kinds=data-race
// argv: one
#include "heddle.h"
#include "litmus.h"

static int x, alone;

static void *inside(void *arg)
{
  hd_atomic_begin();
  x++;
  hd_atomic_end();
  return arg;
}

static void *outside(void *arg)
{
  if (!alone) hd_atomic_begin();
  x = 5;
  if (!alone) hd_atomic_end();
  return arg;
}

int main(int argc, char **argv)
{
  alone = argv[1][0] == 'o';
  both(inside, outside);
  return 0;
}
