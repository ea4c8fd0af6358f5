// The same shape; the assertion holds in every schedule.
// restart: memory fork
// expect: clean executions=300
#include "litmus.h"

static int value;

static void *writer(void *arg)
{
  poke(&value, 2);
  return arg;
}

static void *reader(void *arg)
{
  int seen = peek(&value);
  assert(seen == 0 || seen == 2);
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
