// `if` with one waiter is wrong only when wake-ups are spurious: one is tried by default. A loop that checks again costs
// nothing.
// restart: memory fork
// expect: kind=assertion
// args: --spurious
// where: function=waiter line=@woken
// expect: kind=assertion
// where: function=waiter line=@woken
// expect: exact executions=2
// argv: loop
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int flag;
static int loops;

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  while (loops && !flag) pthread_cond_wait(&cond, &lock);
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

int main(int argc, char **argv)
{
  loops = argc > 1 && !strcmp(argv[1], "loop");
  both(waiter, signaller);
  return 0;
}
