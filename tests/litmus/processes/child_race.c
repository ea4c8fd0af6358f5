// expect: kind=assertion
// where: function=main line=@x
// native: no
/* The child never sees what the other thread has not written yet. */
#include <sys/wait.h>

#include "litmus.h"

static int ready;

static void *worker(void *arg)
{
  __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
  return arg;
}

int main(void)
{
  int status;
  pthread_t t = spawn(worker, NULL);
  int before = __atomic_load_n(&ready, __ATOMIC_SEQ_CST);
  pid_t pid = fork();
  if (pid == 0) _exit(before ? 0 : 9);
  assert(waitpid(pid, &status, 0) == pid);
  assert(status == 0); /* @x */
  join(t);
  return 0;
}
