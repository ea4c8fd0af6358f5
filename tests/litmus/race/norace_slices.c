// Slices of one array, one per thread, filled with memcpy, memset and a loop.
// opt: -O0 -O2
// expect: clean executions=200
#include "litmus.h"

static char shared[3 * 37], from[37];
static size_t len = 37;

static void *copier(void *arg)
{
  memcpy(shared, from, len);
  return arg;
}

static void *setter(void *arg)
{
  memset(shared + len, 1, len);
  return arg;
}

int main(void)
{
  pthread_t a = spawn(copier, NULL), b = spawn(setter, NULL);
  for (size_t i = 2 * len; i < 3 * len; i++) shared[i] = 2;
  join(a);
  join(b);
  assert(shared[36] == 0 && shared[37] == 1 && shared[73] == 1 && shared[74] == 2);
  return 0;
}
