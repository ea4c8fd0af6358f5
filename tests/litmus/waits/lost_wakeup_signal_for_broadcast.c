// Two kinds of waiters on one condition variable: a signal wakes the wrong one.
// expect: kind=lost-wakeup|deadlock
// expect: clean executions=500
// argv: broadcast
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int turn, broadcast;

static void wake(void)
{
  if (broadcast)
    pthread_cond_broadcast(&cond);
  else
    pthread_cond_signal(&cond);
}

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  while (turn != (int)(long)arg) pthread_cond_wait(&cond, &lock);
  turn++;
  wake();
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argv;
  broadcast = argc > 1;
  pthread_t a = spawn(worker, (void *)1L), b = spawn(worker, (void *)2L);
  pthread_mutex_lock(&lock);
  turn = 1;
  wake();
  pthread_mutex_unlock(&lock);
  join(a);
  join(b);
  return 0;
}
