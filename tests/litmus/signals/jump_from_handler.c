// siglongjmp out of a handler restores the signal mask that sigsetjmp has saved; longjmp leaves it as it is in the handler.
// expect: exact executions=1
// argv: saved
// expect: exact executions=1
// argv: kept
// expect: exact executions=1
// argv: twice
#include <setjmp.h>
#include <signal.h>

#include "litmus.h"

static sigjmp_buf to;

static void handler(int sig)
{
  (void)sig;
  siglongjmp(to, 1);
}

static int is_blocked(int sig)
{
  sigset_t s;
  pthread_sigmask(SIG_BLOCK, NULL, &s);
  return sigismember(&s, sig);
}

static void *nothing(void *arg) { return arg; }

int main(int argc, char **argv)
{
  (void)argc;
  int save = strcmp(argv[1], "kept") != 0;
  volatile int jumps = 0;
  signal(SIGUSR1, handler);
  pthread_t t = spawn(nothing, NULL);
  if (sigsetjmp(to, save)) jumps++;
  assert(jumps == 0 || is_blocked(SIGUSR1) == !save);
  if (jumps < (strcmp(argv[1], "twice") ? 1 : 2)) raise(SIGUSR1);
  assert(jumps > 0);
  join(t);
  return 0;
}
