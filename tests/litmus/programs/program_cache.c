// A cache behind a read-write lock: found under the read lock, or computed under the write lock by the first thread.
// Wrong: the entry is not checked again after changing locks; the entry is written under the read lock.
// expect: exact executions=21
// expect: kind=assertion
// argv: again
// where: function=main line=@once
// expect: kind=data-race
// argv: read
// where: function=lookup line=@store
#include "litmus.h"

static pthread_rwlock_t lock;
static int value, valid, computed, once_only, under_read;

static int lookup(void)
{
  int v = 0;
  pthread_rwlock_rdlock(&lock);
  int found = valid;
  if (found) v = value;
  if (!found && under_read) value = v = 42; /* @store */
  pthread_rwlock_unlock(&lock);
  if (found || under_read) return v;
  pthread_rwlock_wrlock(&lock);
  if (!valid || once_only) {
    value = 42;
    valid = 1;
    computed++;
  }
  v = value;
  pthread_rwlock_unlock(&lock);
  return v;
}

static void *reader(void *arg)
{
  assert(lookup() == 42);
  return arg;
}

int main(int argc, char **argv)
{
  once_only = argc > 1 && argv[1][0] == 'a';
  under_read = argc > 1 && argv[1][0] == 'r';
  pthread_rwlock_init(&lock, NULL);
  pthread_t a = spawn(reader, NULL), b = spawn(reader, NULL);
  assert(lookup() == 42);
  join(a);
  join(b);
  pthread_rwlock_destroy(&lock);
  assert(computed == 1 || under_read); /* @once */
  return 0;
}
