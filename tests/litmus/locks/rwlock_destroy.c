// Destroying a read-write lock that a reader may still hold.
// expect: kind=destroy-in-use
// argv: early
// expect: clean executions=2
// args: --strategy optimal
// expect: kind=destroy-in-use
// argv: late
// says: use of a destroyed read-write lock
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *reader(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *writer(void *arg)
{
  pthread_rwlock_wrlock(&lock);
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t a = spawn(reader, NULL), b = spawn(writer, NULL);
  int early = argc > 1 && !strcmp(argv[1], "early");
  if (!early) join(a);
  if (!early) join(b);
  pthread_rwlock_destroy(&lock);
  if (early) join(a);
  if (early) join(b);
  if (argc > 1 && !early) pthread_rwlock_rdlock(&lock);
  return 0;
}
