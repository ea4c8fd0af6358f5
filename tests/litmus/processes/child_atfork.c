// pthread_atfork handlers hold a lock across the fork, so that the child finds consistent data. Without them the
// child may find the lock held by a thread that does not exist. (Children run natively: their status carries what
// they find.)
// restart: memory fork
// expect: clean executions=60
// args: --strategy random
// expect: kind=assertion
// args: --strategy random --max-executions 500
// argv: without
// where: function=main line=@status
#include <sys/wait.h>

#include "litmus.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int order, whole = 2, prepared, parent_ran;

static void before(void)
{
  pthread_mutex_lock(&m);
  prepared = ++order;
}
static void parent(void)
{
  parent_ran = ++order;
  pthread_mutex_unlock(&m);
}
static void child(void) { pthread_mutex_unlock(&m); }

static void *changer(void *arg)
{
  pthread_mutex_lock(&m);
  whole = 1;
  sched_yield();
  whole = 2;
  pthread_mutex_unlock(&m);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  int status;
  if (argc == 1) assert(pthread_atfork(before, parent, child) == 0);
  pthread_t t = spawn(changer, NULL);
  pid_t pid = fork();
  if (pid == 0) _exit(pthread_mutex_trylock(&m) ? 1 : whole == 2 ? 0 : 2);
  assert(pid > 0 && waitpid(pid, &status, 0) == pid);
  assert(WIFEXITED(status) && WEXITSTATUS(status) == 0); /* @status */
  if (argc == 1) assert(prepared == 1 && parent_ran == 2);
  join(t);
  return 0;
}
