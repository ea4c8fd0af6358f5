// A flag remembers the signal.
// restart: memory fork
// expect: clean executions=500
// expect: clean executions=500
// args: --spurious
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int flag;

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  while (!flag) pthread_cond_wait(&cond, &lock);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *signaller(void *arg)
{
  pthread_mutex_lock(&lock);
  flag = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  both(waiter, signaller);
  return 0;
}
