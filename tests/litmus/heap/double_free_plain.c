// One thread frees a block twice.
// native: no
// expect: kind=double-free
// where: function=worker line=@again
#include "litmus.h"

void *kept;

static void *worker(void *arg)
{
  kept = malloc(10);
  free(kept);
  free(kept); /* @again */
  return arg;
}

int main(void)
{
  join(spawn(worker, NULL));
  return 0;
}
