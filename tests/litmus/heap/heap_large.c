// Large blocks of which little is touched cost little, and are not a hang.
// expect: clean executions=20
// args: --leaks --restart=memory --time 20s
#include "litmus.h"

#define SIZE ((size_t)512 << 20)

static void *worker(void *arg)
{
  char *p = malloc(SIZE);
  assert(p);
  for (size_t i = 0; i < SIZE; i += (size_t)16 << 20) p[i] = 1;
  p[SIZE - 1] = 1;
  free(p);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
