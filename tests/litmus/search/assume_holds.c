// An assumption that holds is not an operation and causes no further executions.
// expect: exact executions=2 states=2
// argv: 1
// expect: exact executions=2 states=2
// argv: 0
#include "heddle.h"
#include "litmus.h"

void hd_rt_observe(uint64_t value);
static int x, assume;

static void *writer(void *arg)
{
  int wide = 1;
  if (assume) hd_assume((long)wide << 40);
  poke(&x, 1);
  return arg;
}

static void *reader(void *arg)
{
  hd_rt_observe(1 + peek(&x));
  if (assume) hd_assume(arg == NULL);
  return arg;
}

int main(int argc, char **argv)
{
  assume = argv[1][0] == '1';
  both(writer, reader);
  return 0;
}
