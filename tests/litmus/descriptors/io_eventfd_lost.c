// expect: kind=deadlock
// says: waits to read from descriptor 3 (eventfd)
/* The reader counts its reads instead of the values it read. */
#include <sys/eventfd.h>

#include "litmus.h"

static int e;

static void *adder(void *arg)
{
  uint64_t one = 1;
  for (int i = 0; i < 2; i++) assert(write(e, &one, sizeof one) == sizeof one);
  return arg;
}

static void *reader(void *arg)
{
  uint64_t n;
  for (int i = 0; i < 2; i++) assert(read(e, &n, sizeof n) == sizeof n);
  return arg;
}

int main(void)
{
  e = eventfd(0, 0);
  both(adder, reader);
  return 0;
}
