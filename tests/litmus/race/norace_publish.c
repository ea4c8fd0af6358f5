// A pointer published under a lock; what it points to is read outside.
// expect: clean executions=500
// args: --leaks
#include "litmus.h"

MUTEX(lock);
static int *box;

static void *producer(void *arg)
{
  int *p = malloc(sizeof *p);
  *p = 42;
  pthread_mutex_lock(&lock);
  box = p;
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *consumer(void *arg)
{
  pthread_mutex_lock(&lock);
  int *p = box;
  pthread_mutex_unlock(&lock);
  if (p) assert(*p == 42);
  return arg;
}

int main(void)
{
  both(producer, consumer);
  free(box);
  return 0;
}
