// `if` with one waiter is wrong only when wake-ups are spurious.
// restart: memory fork
// expect: kind=assertion
// args: --spurious
// where: function=waiter line=@woken
// expect: clean executions=1000
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int flag;

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  if (!flag) pthread_cond_wait(&cond, &lock);
  assert(flag); /* @woken */
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
