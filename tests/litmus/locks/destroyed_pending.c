// An object is destroyed while another thread is about to use it: every use is found, whichever came to its call first.
// native: no
// where: function=worker line=@use
// expect: kind=destroy-in-use
// argv: post
// expect: kind=destroy-in-use
// argv: value
// expect: kind=destroy-in-use
// argv: trywait
// expect: kind=destroy-in-use
// argv: trylock
// expect: kind=destroy-in-use
// argv: signal
// expect: kind=destroy-in-use
// argv: broadcast
// expect: kind=destroy-in-use
// argv: tryrdlock
// expect: kind=destroy-in-use
// argv: spin
#include <semaphore.h>

#include "litmus.h"

static sem_t sem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;

static int is(const char *a, const char *b) { return !strcmp(a, b); }

static void *worker(void *how)
{
  int v, mutex = is(how, "trylock");
  // clang-format off
  int r = is(how, "post") ? sem_post(&sem) : is(how, "value") ? sem_getvalue(&sem, &v) : is(how, "trywait") ? sem_trywait(&sem) : is(how, "trylock") ? pthread_mutex_trylock(&lock) : is(how, "signal") ? pthread_cond_signal(&cond) : is(how, "broadcast") ? pthread_cond_broadcast(&cond) : is(how, "tryrdlock") ? pthread_rwlock_tryrdlock(&rwlock) : pthread_spin_trylock(&spin); /* @use */
  // clang-format on
  return r || mutex ? NULL : how;
}

int main(int argc, char **argv)
{
  (void)argc;
  sem_init(&sem, 0, 1);
  pthread_spin_init(&spin, 0);
  pthread_t t = spawn(worker, argv[1]);
  sem_destroy(&sem);
  pthread_mutex_destroy(&lock);
  pthread_cond_destroy(&cond);
  pthread_rwlock_destroy(&rwlock);
  pthread_spin_destroy(&spin);
  join(t);
  return 0;
}
