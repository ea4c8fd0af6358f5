// Unlocking a lock that another thread holds for writing.
// expect: kind=unlock-not-owner
// where: function=two line=@unlock role=at
// where: function=one line=@lock role=holds
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int taken;

static void *one(void *arg)
{
  pthread_rwlock_wrlock(&lock); /* @lock */
  __atomic_store_n(&taken, 1, __ATOMIC_RELEASE);
  while (peek(&taken) == 1) sched_yield();
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *two(void *arg)
{
  while (!__atomic_load_n(&taken, __ATOMIC_ACQUIRE)) sched_yield();
  pthread_rwlock_unlock(&lock); /* @unlock */
  poke(&taken, 2);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
