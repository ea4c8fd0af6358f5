// Every access under one lock.
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);
static int counter;

static void *worker(void *arg)
{
  for (int i = 0; i < 3; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(counter == 6);
  return 0;
}
