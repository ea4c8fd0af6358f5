// Whether a signal of another thread is pending yet is up to the schedule.
// expect: kind=assertion
// argv: asks
// expect: clean
// argv: waits
#include <signal.h>

#include "litmus.h"

static int waits;

static void *receiver(void *arg)
{
  sigset_t set;
  int sig = 0;
  if (waits) {
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigwait(&set, &sig);
    assert(sig == SIGUSR1);
  } else {
    sigpending(&set);
    assert(!sigismember(&set, SIGUSR1));
  }
  return arg;
}

int main(int argc, char **argv)
{
  sigset_t set;
  waits = argc > 1 && argv[1][0] == 'w';
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t t = spawn(receiver, NULL);
  pthread_kill(t, SIGUSR1);
  join(t);
  return 0;
}
