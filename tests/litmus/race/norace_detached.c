// A detached thread that signals when it is done.
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);
COND(done);
static int value, finished;

static void *worker(void *arg)
{
  pthread_detach(pthread_self());
  value = 1;
  pthread_mutex_lock(&lock);
  finished = 1;
  pthread_cond_signal(&done);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  spawn(worker, NULL);
  pthread_mutex_lock(&lock);
  while (!finished) pthread_cond_wait(&done, &lock);
  pthread_mutex_unlock(&lock);
  assert(value == 1);
  return 0;
}
