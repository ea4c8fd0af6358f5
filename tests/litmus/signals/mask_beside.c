// A thread masks a signal while another one sends it: it may come before, and the handler runs, or after, and it stays
// pending. A signal to the process goes to whoever does not mask it by then.
// native: no
// expect: kind=assertion
// argv: before
// expect: kind=assertion
// argv: after
// expect: kind=assertion
// argv: process
// expect: clean executions=3
// argv: inherited
#include <signal.h>

#include "litmus.h"

static int is(const char *a, const char *b) { return !strcmp(a, b); }
static pthread_t first;
static _Thread_local int number;
static int handled_by;

static void handler(int sig)
{
  (void)sig;
  handled_by = number;
}

static void *sender(void *how)
{
  number = 2;
  if (is(how, "process"))
    kill(getpid(), SIGUSR1);
  else
    pthread_kill(first, SIGUSR1);
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  const char *how = argv[1];
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  signal(SIGUSR1, handler);
  number = 1;
  first = pthread_self();
  if (is(how, "inherited")) pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t t = spawn(sender, argv[1]);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  join(t);
  if (is(how, "before")) assert(!handled_by);
  if (is(how, "after")) assert(handled_by);
  if (is(how, "process")) assert(handled_by == 2);
  if (is(how, "inherited")) assert(!handled_by);
  return 0;
}
