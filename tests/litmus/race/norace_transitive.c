// Order through two locks and a third thread.
// expect: clean executions=1000
#include "litmus.h"

MUTEX(a);
MUTEX(b);
static int data, first, second;

static void *one(void *arg)
{
  data = 42;
  pthread_mutex_lock(&a);
  first = 1;
  pthread_mutex_unlock(&a);
  return arg;
}

static void *two(void *arg)
{
  pthread_mutex_lock(&a);
  int f = first;
  pthread_mutex_unlock(&a);
  pthread_mutex_lock(&b);
  second = f;
  pthread_mutex_unlock(&b);
  return arg;
}

static void *three(void *arg)
{
  pthread_mutex_lock(&b);
  int s = second;
  pthread_mutex_unlock(&b);
  if (s) assert(data == 42);
  return arg;
}

int main(void)
{
  pthread_t t = spawn(three, NULL);
  both(one, two);
  join(t);
  return 0;
}
