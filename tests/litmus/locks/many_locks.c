// Thousands of lock operations in one execution.
// restart: memory fork
// expect: clean executions=5
#include "litmus.h"

MUTEX(lock);
static int counter;

static void *worker(void *arg)
{
  for (int i = 0; i < 5000; i++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(counter == 10000);
  return 0;
}
