// A block copy out of a freed block.
// opt: -O0 -O2
// expect: kind=use-after-free
// where: function=worker line=@copy
#include "litmus.h"

char *block, copy[64];
size_t size = 64;

static void *worker(void *arg)
{
  memcpy(copy, block, size); /* @copy */
  return arg;
}

int main(void)
{
  block = malloc(size);
  memset(block, 1, size);
  free(block);
  join(spawn(worker, NULL));
  return 0;
}
