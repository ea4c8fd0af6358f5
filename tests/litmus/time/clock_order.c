// No clock runs backwards from a thread to one that comes after it: in the order of a lock, of relaxed atomics, of a failed
// trylock, of a signal to a waiter, of creating and joining.
// expect: clean
// argv: lock
// expect: clean
// argv: relaxed
// expect: clean
// argv: trylock
// expect: clean
// argv: wake
// expect: clean
// argv: join
// expect: clean
// argv: sem
// expect: clean
// argv: pipe
#include "litmus.h"
#include <semaphore.h>

MUTEX(lock);
MUTEX(second);
COND(cond);
static sem_t sem;
static long long last;
static int ready, pipes[2];
static const char *how;

static int is(const char *what) { return !strcmp(how, what); }

static long long now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void entry(void)
{
  long long n = now();
  assert(n >= __atomic_load_n(&last, __ATOMIC_RELAXED));
  __atomic_store_n(&last, n, __ATOMIC_RELAXED);
}

static void *worker(void *arg)
{
  now(), now(), now();
  if (is("lock")) pthread_mutex_lock(&lock), entry(), entry(), pthread_mutex_unlock(&lock);
  if (is("relaxed")) poke(&last, now()), poke(&ready, 1);
  if (is("trylock") && !pthread_mutex_trylock(&second)) poke(&last, now()), pthread_mutex_trylock(&lock);
  if (is("wake")) { /* the signal comes without the lock */
    pthread_mutex_lock(&lock), ready = 1, pthread_mutex_unlock(&lock);
    poke(&last, now());
    pthread_cond_signal(&cond);
  }
  if (is("join")) last = now();
  if (is("sem")) last = now(), sem_post(&sem);
  if (is("pipe")) last = now(), assert(write(pipes[1], "x", 1) == 1);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  assert(argc == 2 && pipe(pipes) == 0);
  how = argv[1];
  sem_init(&sem, 0, 0);
  last = now();
  pthread_t t = spawn(worker, NULL);
  if (is("lock")) pthread_mutex_lock(&lock), entry(), pthread_mutex_unlock(&lock);
  if (is("relaxed") && peek(&ready)) assert(now() >= peek(&last));
  if (is("trylock") && pthread_mutex_trylock(&lock)) assert(now() >= peek(&last));
  if (is("wake")) {
    pthread_mutex_lock(&lock);
    if (!ready && pthread_cond_wait(&cond, &lock) == 0) assert(now() >= peek(&last));
    pthread_mutex_unlock(&lock);
  }
  if (is("sem")) sem_wait(&sem), assert(now() >= last);
  if (is("pipe")) assert(read(pipes[0], &c, 1) == 1 && now() >= last);
  join(t);
  assert(now() >= last);
  return 0;
}
