// A block allocated by one thread, filled and freed by another.
// expect: clean executions=300
// args: --leaks
#include "litmus.h"

MUTEX(lock);
static int *slot;

static void *producer(void *arg)
{
  for (int i = 0; i < 4; i++) {
    int *p = malloc(16);
    p[0] = i;
    pthread_mutex_lock(&lock);
    free(slot);
    slot = p;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

static void *consumer(void *arg)
{
  for (int i = 0; i < 4; i++) {
    pthread_mutex_lock(&lock);
    int *p = slot;
    slot = NULL;
    pthread_mutex_unlock(&lock);
    if (p) p[3] = 1;
    free(p);
  }
  return arg;
}

int main(void)
{
  both(producer, consumer);
  free(slot);
  return 0;
}
