// Signals a condition variable on which no thread waits.
// expect: kind=lost-wakeup
#include "litmus.h"

MUTEX(lock);
COND(full);
COND(empty);
static int flag;

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  while (!flag) pthread_cond_wait(&full, &lock);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *signaller(void *arg)
{
  pthread_mutex_lock(&lock);
  flag = 1;
  pthread_cond_signal(&empty);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(waiter, signaller);
  return 0;
}
