// Blocks that two threads get from malloc one after the other may be the same memory; that is not a race.
// opt: -O0 -O2
// expect: clean executions=500
// args: --leaks
#include "litmus.h"

static void *worker(void *arg)
{
  for (int i = 0; i < 4; i++) {
    int *p = malloc(40);
    for (int k = 0; k < 10; k++) p[k] = k;
    p = realloc(p, 400);
    assert(p[9] == 9);
    p[99] = 1;
    free(p);
  }
  return arg;
}

int main(void)
{
  both(worker, worker);
  worker(NULL);
  return 0;
}
