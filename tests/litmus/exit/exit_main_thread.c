// pthread_exit in main: the others continue, and the process ends with the last of them, including atexit handlers.
// restart: memory fork
// expect: clean executions=200
// expect: kind=assertion
// argv: fail
// where: function=at_end
#include "litmus.h"

static int finished, fail;

static void *worker(void *arg)
{
  for (int i = 0; i < 3; i++) sched_yield();
  __atomic_fetch_add(&finished, 1, __ATOMIC_SEQ_CST);
  return arg;
}

static void at_end(void)
{
  assert(peek(&finished) == (fail ? 3 : 2));
}

int main(int argc, char **argv)
{
  (void)argv;
  fail = argc > 1;
  atexit(at_end);
  spawn(worker, NULL);
  spawn(worker, NULL);
  pthread_exit(NULL);
}
