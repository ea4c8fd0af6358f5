// Two locks in one order; and a third taken with trylock in the opposite order.
// restart: memory fork
// expect: clean executions=500
#include "litmus.h"

MUTEX(a);
MUTEX(b);

static void *one(void *arg)
{
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return arg;
}

static void *two(void *arg)
{
  pthread_mutex_lock(&b);
  while (pthread_mutex_trylock(&a)) {
    pthread_mutex_unlock(&b);
    sched_yield();
    pthread_mutex_lock(&b);
  }
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
