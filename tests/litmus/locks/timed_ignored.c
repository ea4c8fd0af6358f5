// Every way to try a lock or to take it within a time, and what happens when the result is ignored: the thread
// continues without the lock while another holds it.
// native: no
// expect: clean executions=200
// argv: all
// compilers: gcc
// expect: kind=data-race
// argv: timedlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: clocklock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: trylock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: timedrdlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: timedwrlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: clockrdlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: clockwrlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: tryrdlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: trywrlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: sem_timedwait
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: sem_clockwait
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: sem_trywait
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: spin_trylock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: mtx_timedlock
// where: line=@use
// compilers: gcc
// expect: kind=data-race
// argv: mtx_trylock
// where: line=@use
// compilers: gcc
#include "litmus.h"
#include <semaphore.h>
#include <threads.h>

enum object { MUTEX_, RWLOCK, SEM, SPIN, MTX };

MUTEX(mutex);
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static pthread_spinlock_t spin;
static mtx_t mtx;
static struct timespec soon;
static int data, careful;

static int timedlock(void) { return pthread_mutex_timedlock(&mutex, &soon); }
static int clocklock(void) { return pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &soon); }
static int trylock(void) { return pthread_mutex_trylock(&mutex); }
static int timedrdlock(void) { return pthread_rwlock_timedrdlock(&rwlock, &soon); }
static int timedwrlock(void) { return pthread_rwlock_timedwrlock(&rwlock, &soon); }
static int clockrdlock(void) { return pthread_rwlock_clockrdlock(&rwlock, CLOCK_REALTIME, &soon); }
static int clockwrlock(void) { return pthread_rwlock_clockwrlock(&rwlock, CLOCK_REALTIME, &soon); }
static int tryrdlock(void) { return pthread_rwlock_tryrdlock(&rwlock); }
static int trywrlock(void) { return pthread_rwlock_trywrlock(&rwlock); }
static int timed_sem(void) { return sem_timedwait(&sem, &soon); }
static int clock_sem(void) { return sem_clockwait(&sem, CLOCK_REALTIME, &soon); }
static int try_sem(void) { return sem_trywait(&sem); }
static int try_spin(void) { return pthread_spin_trylock(&spin); }
static int timed_mtx(void) { return mtx_timedlock(&mtx, &soon); }
static int try_mtx(void) { return mtx_trylock(&mtx); }

static const struct way {
  const char *name;
  enum object object;
  int (*take)(void);
} ways[] = {{"timedlock", MUTEX_, timedlock},      {"clocklock", MUTEX_, clocklock},
            {"trylock", MUTEX_, trylock},          {"timedrdlock", RWLOCK, timedrdlock},
            {"timedwrlock", RWLOCK, timedwrlock},  {"clockrdlock", RWLOCK, clockrdlock},
            {"clockwrlock", RWLOCK, clockwrlock},  {"tryrdlock", RWLOCK, tryrdlock},
            {"trywrlock", RWLOCK, trywrlock},      {"sem_timedwait", SEM, timed_sem},
            {"sem_clockwait", SEM, clock_sem},     {"sem_trywait", SEM, try_sem},
            {"spin_trylock", SPIN, try_spin},      {"mtx_timedlock", MTX, timed_mtx},
            {"mtx_trylock", MTX, try_mtx}};

static void take(enum object o)
{
  switch (o) {
    case MUTEX_: pthread_mutex_lock(&mutex); break;
    case RWLOCK: pthread_rwlock_wrlock(&rwlock); break;
    case SEM: sem_wait(&sem); break;
    case SPIN: pthread_spin_lock(&spin); break;
    case MTX: mtx_lock(&mtx); break;
  }
}

static void give(enum object o)
{
  switch (o) {
    case MUTEX_: pthread_mutex_unlock(&mutex); break;
    case RWLOCK: pthread_rwlock_unlock(&rwlock); break;
    case SEM: sem_post(&sem); break;
    case SPIN: pthread_spin_unlock(&spin); break;
    case MTX: mtx_unlock(&mtx); break;
  }
}

static void *holder(void *arg)
{
  const struct way *w = arg;
  take(w->object);
  data = 1;
  sleep(10);
  data = 2;
  give(w->object);
  return arg;
}

static void *visitor(void *arg)
{
  const struct way *w = arg;
  clock_gettime(CLOCK_REALTIME, &soon);
  soon.tv_sec += 1;
  int failed = w->take();
  if (!failed || !careful) assert(data != 1 || !careful); /* @use */
  if (!failed) give(w->object);
  return arg;
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  careful = !strcmp(argv[1], "all");
  sem_init(&sem, 0, 1);
  pthread_spin_init(&spin, 0);
  mtx_init(&mtx, mtx_timed);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (!careful && strcmp(argv[1], ways[i].name)) continue;
    pthread_t a = spawn(holder, (void *)&ways[i]), b = spawn(visitor, (void *)&ways[i]);
    join(a);
    join(b);
    data = 0;
  }
  return 0;
}
