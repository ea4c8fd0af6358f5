// trylock in a loop.
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);
static int counter;

static void *worker(void *arg)
{
  while (pthread_mutex_trylock(&lock)) sched_yield();
  counter++;
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(counter == 2);
  return 0;
}
