// expect: exact executions=2
/* An eventfd: a reader sees one increment, then the other, or both at once. */
#include <sys/eventfd.h>

#include "litmus.h"

static int e;
static uint64_t seen;

static void *adder(void *arg)
{
  uint64_t one = 1;
  for (int i = 0; i < 2; i++) assert(write(e, &one, sizeof one) == sizeof one);
  return arg;
}

static void *reader(void *arg)
{
  uint64_t n;
  while (seen < 2) {
    assert(read(e, &n, sizeof n) == sizeof n);
    seen += n;
  }
  assert(seen == 2);
  return arg;
}

int main(void)
{
  e = eventfd(0, 0);
  both(adder, reader);
  return 0;
}
