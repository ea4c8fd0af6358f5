// A pointer from before a realloc.
// expect: kind=use-after-free
// where: function=worker line=@use
#include "litmus.h"

int *old, *grown;

static void *worker(void *arg)
{
  old[0] = 1; /* @use */
  return arg;
}

int main(void)
{
  old = malloc(32);
  grown = realloc(old, 100000);
  join(spawn(worker, NULL));
  free(grown);
  return 0;
}
