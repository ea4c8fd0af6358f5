// A handler runs in the thread that raised the signal, at that point. Wrong: it accesses what another thread
// accesses; the signal has no handler.
// restart: memory fork
// expect: clean executions=100
// expect: kind=data-race
// argv: shared
// where: function=handler line=@handler
// expect: kind=crash
// argv: none
// where: function=worker line=@raise
#include "litmus.h"
#include <signal.h>

static int shared, handled;

static void handler(int sig)
{
  assert(sig == SIGUSR1);
  if (shared) shared++; /* @handler */
  __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
  raise(SIGUSR1); /* @raise */
  if (shared) shared++;
  return arg;
}

int main(int argc, char **argv)
{
  shared = argc > 1 && argv[1][0] == 's';
  struct sigaction action = {.sa_handler = handler};
  if (argc == 1 || shared) sigaction(SIGUSR1, &action, NULL);
  both(worker, worker);
  assert(handled == 2);
  return 0;
}
