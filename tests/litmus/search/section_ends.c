// An unterminated section ends when its thread ends or fails; a section that was not started cannot be ended.
// restart: memory fork
// expect: exact executions=2 states=2
// argv: thread
// expect: exact executions=2 kinds=assertion states=2
// argv: fail
// expect: exact executions=1 kinds=assertion states=1
// argv: unmatched
#include "heddle.h"
#include "litmus.h"

void hd_rt_observe(uint64_t value);
static int x;
static char how;

static void *first(void *arg)
{
  if (how != 'u') hd_atomic_begin();
  if (how == 'u') hd_atomic_end();
  poke(&x, 1);
  poke(&x, 2);
  assert(how != 'f');
  return arg;
}

static void *second(void *arg)
{
  int seen = peek(&x);
  assert(seen != 1);
  hd_rt_observe(1 + (uint64_t)seen);
  return arg;
}

int main(int argc, char **argv)
{
  how = argv[1][0];
  both(first, second);
  return 0;
}
