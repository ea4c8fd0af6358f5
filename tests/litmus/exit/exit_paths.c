// Every way to end a process, in a thread, by argument; atexit handlers run only for exit, in reverse order.
// restart: memory fork
// expect: clean executions=100
// argv: e
// expect: clean executions=100
// argv: _
// expect: clean executions=100
// argv: q
// expect: clean executions=100
// argv: r
#include "litmus.h"

static int handlers;
static char how;

static void first(void)
{
  assert(handlers == 1 && (how == 'e' || how == 'r'));
  handlers = 2;
}
static void second(void)
{
  assert(handlers == 0);
  handlers = 1;
}

static void *worker(void *arg)
{
  switch (how) {
    case 'e': exit(0);
    case '_': _exit(0);
    case 'q': quick_exit(0);
  }
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  how = argv[1][0];
  atexit(first);
  atexit(second);
  join(spawn(worker, NULL));
  return 0;
}
