// exit in a destructor while exit is already running; and an atexit handler that crashes.
// native: no
// restart: memory fork
// expect: clean executions=100
// argv: exit
// expect: goes-on executions=50 kinds=crash
// argv: crash
// expect: goes-on executions=50 kinds=abort
// argv: abort
#include "litmus.h"

static char how;
int *nowhere;

__attribute__((destructor)) static void at_end(void)
{
  if (how == 'e') _exit(0);
  if (how == 'c') *nowhere = 1;
  if (how == 'a') abort();
}

static void *worker(void *arg) { return arg; }

int main(int argc, char **argv)
{
  (void)argc;
  how = argv[1][0];
  join(spawn(worker, NULL));
  return 0;
}
