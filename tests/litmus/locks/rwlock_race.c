// A thread writes while holding the lock for reading only.
// expect: kind=data-race
// where: function=reader line=@read
// where: function=writer line=@write
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int value;

static void *reader(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  int v = value; /* @read */
  pthread_rwlock_unlock(&lock);
  return v ? arg : NULL;
}

static void *writer(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  value = 1; /* @write */
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void)
{
  both(reader, writer);
  return 0;
}
