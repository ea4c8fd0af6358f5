// exit in main ends the process while threads are still working.
// restart: memory fork
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  for (;;) sched_yield();
  return arg;
}

int main(void)
{
  spawn(worker, NULL);
  spawn(worker, NULL);
  sched_yield();
  exit(0);
}
