// main returns a status other than 0.
// native: no
// expect: kind=exit
// expect: clean executions=50
// args: --exit-status 7
#include "litmus.h"

static void *worker(void *arg) { return arg; }

int main(void)
{
  join(spawn(worker, NULL));
  return 7;
}
