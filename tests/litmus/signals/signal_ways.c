// expect: clean executions=200
// restart: memory fork
/* Handlers that return: raise, kill, masks, input and output in a handler, handlers reset. */
#include <signal.h>

#include "litmus.h"

static int caught;
static int p[2];

static void count(int sig) { __atomic_fetch_add(&caught, sig == SIGUSR1, __ATOMIC_SEQ_CST); }

static void with_info(int sig, siginfo_t *info, void *context)
{
  char where;
  (void)context;
  assert(info->si_signo == sig);
  if (write(p[1], "x", 1) == 1 && read(p[0], &where, 1) == 1) caught++;
}

static void *worker(void *arg)
{
  raise(SIGUSR1);
  return arg;
}

int main(void)
{
  assert(caught == 0 && pipe(p) == 0);
  struct sigaction old;
  assert(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
  signal(SIGUSR1, count);
  both(worker, worker);
  assert(caught == 2);
  struct sigaction sa = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
  assert(sigaction(SIGUSR2, &sa, NULL) == 0);
  kill(getpid(), SIGUSR2);
  assert(caught == 3);
  sigset_t set, old_set, waiting;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  assert(pthread_sigmask(SIG_BLOCK, &set, &old_set) == 0 && !sigismember(&old_set, SIGUSR2));
  kill(getpid(), SIGUSR2);
  assert(caught == 3 && sigpending(&waiting) == 0 && sigismember(&waiting, SIGUSR2));
  assert(pthread_sigmask(SIG_SETMASK, &old_set, NULL) == 0 && caught == 4);
  return 0;
}
