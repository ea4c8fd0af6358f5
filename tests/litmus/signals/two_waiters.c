// Two threads wait for signals to the process: two that queue end both waits, and each thread goes on with its own; of two
// that merge one is lost where the first has not been taken yet.
// native: no
// expect: clean
// argv: queue
// expect: kind=deadlock
// argv: merge
#include <signal.h>

#include "litmus.h"

static sigset_t set;
static pthread_barrier_t both_woken;
static int sum;

static void *waiter(void *arg)
{
  siginfo_t info;
  assert(sigwaitinfo(&set, &info) > 0);
  __atomic_fetch_add(&sum, info.si_value.sival_int, __ATOMIC_SEQ_CST);
  if (arg) pthread_barrier_wait(&both_woken);
  return NULL;
}

int main(int argc, char **argv)
{
  int queue = argc > 1 && argv[1][0] == 'q', sig = queue ? SIGRTMIN : SIGUSR1;
  if (argc < 2) return 0;
  sigemptyset(&set);
  sigaddset(&set, sig);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_barrier_init(&both_woken, NULL, 2);
  pthread_t a = spawn(waiter, queue ? &set : NULL), b = spawn(waiter, queue ? &set : NULL);
  for (int i = 1; i <= 2; i++) sigqueue(getpid(), sig, (union sigval){.sival_int = i});
  join(a);
  join(b);
  assert(sum == 3);
  return 0;
}
