// The last of three critical sections finds a forbidden value, in one order of many.
// restart: memory fork
// expect: exact executions=6 kinds=assertion dfs=no
// says: __VERIFIER_error() was called
#include "litmus.h"

extern void __VERIFIER_error(void);

MUTEX(lock);
static int data;

static void *one(void *arg)
{
  pthread_mutex_lock(&lock);
  data++;
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *two(void *arg)
{
  pthread_mutex_lock(&lock);
  data += 2;
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *three(void *arg)
{
  pthread_mutex_lock(&lock);
  if (data >= 3) __VERIFIER_error();
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_t a = spawn(one, NULL), b = spawn(two, NULL), c = spawn(three, NULL);
  join(a);
  join(b);
  join(c);
  return 0;
}
