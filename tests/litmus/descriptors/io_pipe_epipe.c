// expect: clean executions=20
/* The same with the signal ignored, and with a handler. */
#include <signal.h>

#include "litmus.h"

static volatile int caught;
static void handler(int sig) { caught = sig; }

int main(void)
{
  int p[2];
  assert(pipe(p) == 0);
  close(p[0]);
  signal(SIGPIPE, SIG_IGN);
  assert(write(p[1], "x", 1) == -1 && errno == EPIPE);
  signal(SIGPIPE, handler);
  assert(write(p[1], "x", 1) == -1 && errno == EPIPE && caught == SIGPIPE);
  return 0;
}
