// Thread attributes: detached from the start, requested stack size, what pthread_getattr_np reports about the stack.
// restart: memory fork
// expect: clean executions=100
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int done;

static void *detached(void *arg)
{
  pthread_mutex_lock(&lock);
  done = 1;
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *sized(void *arg)
{
  pthread_attr_t attr;
  void *base;
  size_t size;
  char here;
  assert(pthread_getattr_np(pthread_self(), &attr) == 0);
  assert(pthread_attr_getstack(&attr, &base, &size) == 0);
  assert(size >= (1 << 20) && &here > (char *)base && &here < (char *)base + size);
  pthread_attr_destroy(&attr);
  return arg;
}

int main(void)
{
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  assert(pthread_create(&t, &attr, detached, NULL) == 0);
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_JOINABLE);
  pthread_attr_setstacksize(&attr, 1 << 20);
  assert(pthread_create(&t, &attr, sized, NULL) == 0);
  join(t);
  pthread_mutex_lock(&lock);
  while (!done) pthread_cond_wait(&cond, &lock);
  pthread_mutex_unlock(&lock);
  pthread_attr_destroy(&attr);
  return 0;
}
