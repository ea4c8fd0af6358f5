// Each thread holds a lock, but not the same one.
// expect: kind=data-race
#include "litmus.h"

MUTEX(a);
MUTEX(b);
int counter;

static void *one(void *arg)
{
  pthread_mutex_lock(&a);
  counter++;
  pthread_mutex_unlock(&a);
  return arg;
}

static void *two(void *arg)
{
  pthread_mutex_lock(&b);
  counter++;
  pthread_mutex_unlock(&b);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
