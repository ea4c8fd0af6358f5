// Locks that constructors take, and that main releases, or takes again.
// native: no
// expect: exact executions=1
// argv: mutex
// expect: exact executions=1
// argv: recursive
// expect: exact executions=1
// argv: errorcheck
// expect: exact executions=1
// argv: robust
// expect: exact executions=1
// argv: writer
// expect: exact executions=1
// argv: reader
// expect: exact executions=1
// argv: spin
// expect: exact executions=1
// argv: stream
// expect: exact executions=1
// argv: c11
// expect: kind=deadlock
// argv: kept
#include <threads.h>

#include "litmus.h"

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, errorcheck, robust;
static pthread_rwlock_t writer = PTHREAD_RWLOCK_INITIALIZER, reader = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static mtx_t c11;
static int value;
static const char *which;

static void init(pthread_mutex_t *m, int type, int robustness)
{
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, type);
  pthread_mutexattr_setrobust(&a, robustness);
  pthread_mutex_init(m, &a);
}

__attribute__((constructor)) static void take(void)
{
  init(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
  init(&errorcheck, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
  init(&robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
  pthread_spin_init(&spin, 0);
  mtx_init(&c11, mtx_plain);
  pthread_mutex_lock(&plain);
  pthread_mutex_trylock(&kept);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&recursive);
  pthread_mutex_lock(&errorcheck);
  pthread_mutex_lock(&robust);
  pthread_rwlock_wrlock(&writer);
  pthread_rwlock_rdlock(&reader);
  pthread_rwlock_rdlock(&reader);
  pthread_spin_lock(&spin);
  flockfile(stderr);
  mtx_lock(&c11);
}

#define IS(name) (strcmp(which, name) == 0)

static void *worker(void *arg)
{
  if (IS("mutex")) pthread_mutex_lock(&plain);
  if (IS("recursive")) pthread_mutex_lock(&recursive);
  if (IS("errorcheck")) pthread_mutex_lock(&errorcheck);
  if (IS("robust")) assert(pthread_mutex_lock(&robust) == 0);
  if (IS("writer")) pthread_rwlock_rdlock(&writer);
  if (IS("reader")) pthread_rwlock_wrlock(&reader);
  if (IS("spin")) pthread_spin_lock(&spin);
  if (IS("stream")) flockfile(stderr);
  if (IS("c11")) mtx_lock(&c11);
  if (IS("kept")) pthread_mutex_lock(&kept);
  assert(value == 2);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  which = argv[1];
  pthread_t t = spawn(worker, NULL);
  value = 1;
  if (IS("recursive")) pthread_mutex_unlock(&recursive);
  if (IS("errorcheck")) assert(pthread_mutex_lock(&errorcheck) == EDEADLK);
  if (IS("reader")) pthread_rwlock_unlock(&reader);
  value = 2;
  if (IS("mutex")) pthread_mutex_unlock(&plain);
  if (IS("recursive")) pthread_mutex_unlock(&recursive);
  if (IS("errorcheck")) pthread_mutex_unlock(&errorcheck);
  if (IS("robust")) pthread_mutex_unlock(&robust);
  if (IS("writer")) pthread_rwlock_unlock(&writer);
  if (IS("reader")) pthread_rwlock_unlock(&reader);
  if (IS("spin")) pthread_spin_unlock(&spin);
  if (IS("stream")) funlockfile(stderr);
  if (IS("c11")) mtx_unlock(&c11);
  join(t);
  return 0;
}
