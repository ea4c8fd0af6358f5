// Robust mutexes: the owner ends, the next thread is notified and repairs it; or does not, and the mutex becomes
// unusable.
// restart: memory fork
// expect: clean executions=100
// args: --strategy random
// expect: clean executions=2
// args: --strategy optimal
// expect: kind=deadlock
// argv: plain
// where: function=owner role=holds
// expect: kind=assertion
// argv: ignore
// where: function=heir
#include "litmus.h"

static pthread_mutex_t lock;
static int half, told, plain, ignores;

static void *owner(void *arg)
{
  int e = pthread_mutex_lock(&lock);
  half = 1;
  if (e == EOWNERDEAD) pthread_mutex_consistent(&lock);
  return arg; /* in the middle of its work */
}

static void *heir(void *arg)
{
  int e = pthread_mutex_lock(&lock);
  if (e == EOWNERDEAD && !ignores) {
    told++;
    half = 0;
    assert(pthread_mutex_consistent(&lock) == 0);
    assert(pthread_mutex_consistent(&lock) == EINVAL);
  }
  assert(half == 0);
  assert(pthread_mutex_unlock(&lock) == 0);
  return arg;
}

static void *spoiler(void *arg)
{
  assert(pthread_mutex_lock(&lock) == EOWNERDEAD);
  assert(pthread_mutex_unlock(&lock) == 0); /* not repaired */
  return arg;
}

int main(int argc, char **argv)
{
  pthread_mutexattr_t attr;
  plain = argc > 1 && argv[1][0] == 'p';
  ignores = argc > 1 && argv[1][0] == 'i';
  pthread_mutexattr_init(&attr);
  if (!plain) assert(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
  assert(pthread_mutex_init(&lock, &attr) == 0);
  both(owner, heir);
  assert(told <= 1);
  if (ignores) return 0;
  int e = pthread_mutex_lock(&lock);
  assert(e == (told ? 0 : EOWNERDEAD));
  if (e) assert(pthread_mutex_consistent(&lock) == 0);
  assert(pthread_mutex_unlock(&lock) == 0);
  assert(pthread_mutex_unlock(&lock) == EPERM);
  join(spawn(owner, NULL));
  join(spawn(spoiler, NULL));
  assert(pthread_mutex_lock(&lock) == ENOTRECOVERABLE);
  assert(pthread_mutex_trylock(&lock) == ENOTRECOVERABLE);
  assert(pthread_mutex_destroy(&lock) == 0);
  return 0;
}
