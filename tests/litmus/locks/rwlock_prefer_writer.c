// A reader that locks again while a writer waits: with the kind that prefers writers both wait forever. With the other
// kinds, and with calls that give up, nobody does.
// expect: kind=deadlock
// argv: writer lock
// where: function=main line=@again role=waits
// where: function=writer line=@writer role=waits
// expect: clean executions=2
// args: --strategy optimal
// argv: reader lock
// expect: clean
// argv: writer try
// expect: clean
// argv: writer past
// expect: clean
// argv: writer timed
// expect: clean
// argv: writer once
#include "litmus.h"

static pthread_rwlock_t lock;
static int value;

static void *writer(void *arg)
{
  assert(pthread_rwlock_wrlock(&lock) == 0); /* @writer */
  value++;
  assert(pthread_rwlock_unlock(&lock) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  struct timespec past = {1, 0}, later;
  assert(argc == 3);
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec++;
  pthread_rwlockattr_t a;
  pthread_rwlockattr_init(&a);
  pthread_rwlockattr_setkind_np(&a, strcmp(argv[1], "writer") ? PTHREAD_RWLOCK_PREFER_READER_NP
                                                              : PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&lock, &a);
  pthread_t t = spawn(writer, NULL);
  int e = 1;
  assert(pthread_rwlock_rdlock(&lock) == 0);
  int seen = value;
  if (!strcmp(argv[2], "lock")) e = pthread_rwlock_rdlock(&lock); /* @again */
  if (!strcmp(argv[2], "try")) e = pthread_rwlock_tryrdlock(&lock);
  if (!strcmp(argv[2], "past")) e = pthread_rwlock_timedrdlock(&lock, &past);
  if (!strcmp(argv[2], "timed")) e = pthread_rwlock_timedrdlock(&lock, &later);
  assert(seen == value);
  if (!e) assert(pthread_rwlock_unlock(&lock) == 0);
  assert(pthread_rwlock_unlock(&lock) == 0);
  join(t);
  assert(value == 1);
  return 0;
}
