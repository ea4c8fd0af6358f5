// State left by threads does not reach the next execution: keys, running detached threads, held locks, waiters.
// restart: memory fork
// expect: clean executions=300
#include "litmus.h"

MUTEX(lock);
COND(cond);
static pthread_key_t key;
static int started;

static void *waiter(void *arg)
{
  pthread_setspecific(key, &started);
  pthread_mutex_lock(&lock);
  started++;
  pthread_cond_wait(&cond, &lock);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  assert(pthread_key_create(&key, NULL) == 0);
  assert(pthread_getspecific(key) == NULL);
  assert(pthread_mutex_trylock(&lock) == 0);
  assert(started == 0);
  pthread_setspecific(key, &key);
  pthread_mutex_unlock(&lock);
  pthread_detach(spawn(waiter, NULL));
  spawn(waiter, NULL);
  sched_yield();
  pthread_mutex_lock(&lock);
  exit(0);
}
