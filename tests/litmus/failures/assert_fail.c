// An assertion that fails only in some schedules.
// opt: -O0 -O2
// restart: memory fork
// expect: kind=assertion
// where: function=reader line=@assert thread=T2
// says: seen != 1
// replays: 10
#include "litmus.h"

static int value;

static void *writer(void *arg)
{
  poke(&value, 1);
  poke(&value, 2);
  return arg;
}

static void *reader(void *arg)
{
  int seen = peek(&value);
  assert(seen != 1); /* @assert */
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
