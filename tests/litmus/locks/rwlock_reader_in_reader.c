// A reader that creates and joins another reader while it holds the lock: a writer comes before both, or after both.
// opt: -O0 -O2
// expect: kind=assertion
// args: --strategy optimal
// expect: kind=assertion
// args: --strategy dpor
// expect: kind=assertion
// args: --strategy random
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int x;

static void *inner(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *outer(void *arg)
{
  pthread_t t;
  pthread_rwlock_rdlock(&lock);
  assert(x == 0);
  pthread_create(&t, NULL, inner, NULL);
  pthread_join(t, NULL);
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *writer(void *arg)
{
  pthread_rwlock_wrlock(&lock);
  x = 1;
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_t t[2];
  pthread_create(&t[0], NULL, outer, NULL);
  pthread_create(&t[1], NULL, writer, NULL);
  pthread_join(t[0], NULL);
  pthread_join(t[1], NULL);
  return 0;
}
