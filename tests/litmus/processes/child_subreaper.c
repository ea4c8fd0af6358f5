// expect: clean executions=30
// args: --strategy random
/* PR_SET_CHILD_SUBREAPER: the program waits for what its children leave behind, by any child and by SIGCHLD. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "litmus.h"

static void daemonise(void)
{
  if (fork()) return;
  if (fork() == 0) {
    usleep(5000);
    _exit(7);
  }
  _exit(5);
}

static void *worker(void *arg)
{
  return arg;
}

int main(void)
{
  int is, status, first = 0, second = 0;
  sigset_t chld;
  assert(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0 && prctl(PR_GET_CHILD_SUBREAPER, &is) == 0 && is == 1);
  daemonise();
  both(worker, worker);
  while (wait(&status) > 0) {
    first += WEXITSTATUS(status) == 5;
    second += WEXITSTATUS(status) == 7;
  }
  assert(errno == ECHILD && first == 1 && second == 1);
  sigemptyset(&chld);
  sigaddset(&chld, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &chld, NULL);
  daemonise();
  for (int ended = 0; ended < 2;) {
    siginfo_t info;
    assert(sigwaitinfo(&chld, &info) == SIGCHLD);
    while (waitpid(-1, &status, WNOHANG) > 0) ended++;
  }
  return 0;
}
