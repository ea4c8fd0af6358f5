// expect: exact executions=2
// native: no
/* A lock file: exactly one of the two creates it. */
#include <fcntl.h>

#include "litmus.h"

static int winners;

static void *taker(void *arg)
{
  if (open("lock", O_CREAT | O_EXCL, 0600) >= 0) __atomic_fetch_add(&winners, 1, __ATOMIC_SEQ_CST);
  return arg;
}

int main(void)
{
  both(taker, taker);
  assert(winners == 1);
  return 0;
}
