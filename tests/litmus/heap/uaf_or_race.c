// An unordered read and free are a race or a use after free, whichever comes first.
// expect: kind=use-after-free|data-race
// where: function=freer
#include "litmus.h"

static int *block;

static void *reader(void *arg)
{
  (void)arg;
  return (void *)(long)block[1];
}

static void *freer(void *arg)
{
  free(block);
  return arg;
}

int main(void)
{
  block = calloc(2, 4);
  both(reader, freer);
  return 0;
}
