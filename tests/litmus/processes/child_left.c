// expect: clean executions=30
// args: --strategy random
// native: no
/* A child that would never end is killed with the execution. */
#include <sys/wait.h>

#include "litmus.h"

static void *worker(void *arg)
{
  if (fork() == 0)
    for (;;) sleep(1000);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
