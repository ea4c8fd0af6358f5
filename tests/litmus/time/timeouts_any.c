// Timed waits with two outcomes: the bug needs a time-out while other threads still have work. Without the option it
// is not found.
// expect: clean executions=300
// args: --strategy random
// argv: cond
// expect: kind=assertion
// args: --timeouts=any
// argv: cond
// where: function=impatient
// expect: kind=assertion
// args: --timeouts=any
// argv: lock
// expect: kind=assertion
// args: --timeouts=any
// argv: rwlock
// expect: kind=assertion
// args: --timeouts=any
// argv: sem
// expect: kind=assertion
// args: --timeouts=any
// argv: sleep
// expect: kind=assertion
// args: --timeouts=any
// argv: join
// expect: clean executions=4
// args: --timeouts=any --strategy optimal
// argv: right
#include "litmus.h"
#include <semaphore.h>

MUTEX(lock);
COND(ready);
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static int done;
static const char *what;
static pthread_t other;

static struct timespec in_a_minute(void)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += 60;
  return t;
}

static void *patient(void *arg)
{
  pthread_rwlock_wrlock(&rw);
  pthread_mutex_lock(&lock);
  poke(&done, 1);
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&lock);
  pthread_rwlock_unlock(&rw);
  sem_post(&sem);
  return arg;
}

static void *impatient(void *arg)
{
  struct timespec t = in_a_minute();
  int e = 0;
  if (!strcmp(what, "lock")) {
    e = pthread_mutex_timedlock(&lock, &t);
    if (!e) pthread_mutex_unlock(&lock);
  }
  if (!strcmp(what, "rwlock")) {
    e = pthread_rwlock_timedrdlock(&rw, &t);
    if (!e) pthread_rwlock_unlock(&rw);
  }
  if (!strcmp(what, "sem")) e = sem_timedwait(&sem, &t);
  if (!strcmp(what, "join")) e = pthread_timedjoin_np(other, NULL, &t);
  if (!strcmp(what, "sleep")) {
    sleep(60);
    e = !peek(&done);
  }
  if (!strcmp(what, "cond")) {
    pthread_mutex_lock(&lock);
    while (!peek(&done) && !e) e = pthread_cond_timedwait(&ready, &lock, &t);
    pthread_mutex_unlock(&lock);
  }
  assert(!e);
  return arg;
}

/* Both outcomes are provided for. */
static void *careful(void *arg)
{
  struct timespec t = in_a_minute();
  int e = 0;
  pthread_mutex_lock(&lock);
  if (!done) e = pthread_cond_timedwait(&ready, &lock, &t);
  assert(e == 0 || e == ETIMEDOUT);
  assert(e == ETIMEDOUT || done);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *signaller(void *arg)
{
  pthread_mutex_lock(&lock);
  done = 1;
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "";
  sem_init(&sem, 0, 0);
  if (!strcmp(what, "right")) {
    both(careful, signaller);
    return 0;
  }
  other = spawn(patient, NULL);
  pthread_t t = spawn(impatient, NULL);
  join(t);
  if (strcmp(what, "join")) join(other);
  return 0;
}
