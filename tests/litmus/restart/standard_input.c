// Every execution reads standard input from where it began.
// restart: memory fork
// native: no
// expect: exact executions=2
#include "litmus.h"

static int x;

static void *add(void *arg)
{
  __atomic_fetch_add(&x, 1, __ATOMIC_RELAXED);
  return arg;
}

int main(void)
{
  long at = lseek(0, 0, SEEK_CUR);
  assert(at <= 0); /* 0, or not a file */
  char line[8];
  if (fgets(line, sizeof line, stdin) && line[0]) x = 0;
  both(add, add);
  return 0;
}
