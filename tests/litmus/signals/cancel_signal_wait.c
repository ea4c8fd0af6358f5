// A thread is cancelled before it waits for a signal, or while it does: no cancellation is lost.
// compilers: gcc
// expect: exact executions=3
// argv: pause
// expect: exact executions=3
// argv: suspend
// expect: exact executions=3
// argv: wait
// expect: exact executions=3
// argv: information
#include <signal.h>

#include "litmus.h"

static const char *what;

static void *wait_for_signal(void *arg)
{
  sigset_t set;
  int sig;
  sigemptyset(&set);
  if (!strcmp(what, "suspend")) sigsuspend(&set);
  sigaddset(&set, SIGUSR1);
  if (!strcmp(what, "pause")) pause();
  if (!strcmp(what, "wait")) sigwait(&set, &sig);
  if (!strcmp(what, "information")) sigwaitinfo(&set, NULL);
  return arg;
}

int main(int argc, char **argv)
{
  sigset_t set;
  void *result;
  if (argc < 2) return 0;
  what = argv[1];
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t t = spawn(wait_for_signal, NULL);
  pthread_cancel(t);
  pthread_join(t, &result);
  assert(result == PTHREAD_CANCELED);
  return 0;
}
