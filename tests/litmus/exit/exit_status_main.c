// main returns a status other than 0.
// native: no
// expect: kind=exit
// args: --exit-status
// expect: clean executions=50
#include "litmus.h"

static void *worker(void *arg) { return arg; }

int main(void)
{
  join(spawn(worker, NULL));
  return 7;
}
