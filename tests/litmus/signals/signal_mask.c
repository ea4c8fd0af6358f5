// A handler that takes a lock: correct as long as the signal is blocked while the thread holds the lock.
// expect: clean executions=100
// expect: kind=double-lock
// argv: open
// where: function=handler line=@again
#include "litmus.h"
#include <signal.h>

MUTEX(lock);
static int handled, worked;

static void handler(int sig)
{
  (void)sig;
  pthread_mutex_lock(&lock); /* @again */
  handled++;
  pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
  sigset_t set, old, waiting;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  if (!arg) assert(sigprocmask(SIG_BLOCK, &set, &old) == 0);
  pthread_mutex_lock(&lock);
  raise(SIGUSR1);
  assert(sigpending(&waiting) == 0 && sigismember(&waiting, SIGUSR1));
  worked++;
  pthread_mutex_unlock(&lock);
  assert(sigprocmask(SIG_SETMASK, &old, NULL) == 0);
  return NULL;
}

int main(int argc, char **argv)
{
  struct sigaction action = {.sa_handler = handler};
  sigaction(SIGUSR1, &action, NULL);
  pthread_t a = spawn(worker, argc > 1 ? argv[1] : NULL), b = spawn(worker, argc > 1 ? argv[1] : NULL);
  join(a);
  join(b);
  assert(handled == 2 && worked == 2);
  return 0;
}
