// Locking for writing while holding the lock for reading: the thread waits for itself. With a time limit it gives up.
// expect: kind=deadlock
// where: function=main line=@write role=waits
// where: function=main line=@read role=holds
// expect: kind=deadlock
// argv: two
// where: function=up line=@up role=waits
// expect: clean executions=1
// args: --strategy optimal
// argv: timed
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

static void *up(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_wrlock(&lock); /* @up */
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  struct timespec past = {1, 0}, later;
  clock_gettime(CLOCK_REALTIME, &later);
  later.tv_sec++;
  if (argc > 1 && !strcmp(argv[1], "two")) both(up, up);
  pthread_rwlock_rdlock(&lock); /* @read */
  if (argc > 1) {
    assert(pthread_rwlock_timedwrlock(&lock, &past) == ETIMEDOUT);
    assert(pthread_rwlock_timedwrlock(&lock, &later) == ETIMEDOUT);
    assert(pthread_rwlock_trywrlock(&lock) == EBUSY);
    return 0;
  }
  pthread_rwlock_wrlock(&lock); /* @write */
  return 0;
}
