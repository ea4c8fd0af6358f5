// The flag is atomic but set without the lock: it can fall between the test and the wait.
// expect: kind=lost-wakeup
// where: function=waiter role=waits
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int flag;

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  while (!peek(&flag)) pthread_cond_wait(&cond, &lock);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *signaller(void *arg)
{
  poke(&flag, 1);
  pthread_cond_signal(&cond);
  return arg;
}

int main(void)
{
  both(waiter, signaller);
  return 0;
}
