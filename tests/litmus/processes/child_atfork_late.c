// A thread registers handlers of fork while another one forks: both orders are explored.
// expect: kind=assertion
// argv: late
// expect: kind=assertion
// argv: early
// native: no
#include <sys/wait.h>

#include "litmus.h"

static int prepared;
static void prepare(void) { prepared = 1; }

static void *worker(void *arg)
{
  pthread_atfork(prepare, NULL, NULL);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  pthread_t t = spawn(worker, NULL);
  pid_t child = fork();
  if (!child) _exit(0);
  waitpid(child, NULL, 0);
  join(t);
  assert(prepared == !strcmp(argv[1], "late"));
  return 0;
}
