// expect: clean executions=100
// args: --strategy random
/* fork: the child has one thread, its own memory, and handlers run in both; the parent waits for it. */
#include <sys/wait.h>

#include "litmus.h"

static int prepared, in_parent, in_child, shared = 1;
static void prepare(void) { prepared++; }
static void parent(void) { in_parent++; }
static void child(void) { in_child++; }

static void *worker(void *arg)
{
  for (int i = 0; i < 3; i++) sched_yield();
  return arg;
}

static void *forker(void *arg)
{
  int status;
  pid_t pid = fork();
  assert(pid >= 0);
  if (pid == 0) {
    shared = 2;
    char *p = malloc(100000);
    memset(p, 1, 100000);
    free(p);
    _exit(prepared == 1 && in_child == 1 && in_parent == 0 ? 42 : 1);
  }
  assert(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 42);
  assert(shared == 1 && prepared == 1 && in_parent == 1 && in_child == 0);
  assert(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
  return arg;
}

int main(void)
{
  pthread_atfork(prepare, parent, child);
  both(forker, worker);
  return 0;
}
