// Time-outs of zero, or in the past: the call does not wait, whatever other threads still have to do. Each finds what it
// waits for in some schedules and not in others ("found" and "missing" are wrong assumptions).
// expect: kind=assertion
// argv: timedlock found
// expect: kind=assertion
// argv: timedlock missing
// expect: clean
// argv: timedlock any
// expect: kind=assertion
// argv: clocklock found
// expect: kind=assertion
// argv: clocklock missing
// expect: clean
// argv: clocklock any
// expect: kind=assertion
// argv: mtx found
// expect: kind=assertion
// argv: mtx missing
// expect: clean
// argv: mtx any
// expect: kind=assertion
// argv: timedrdlock found
// expect: kind=assertion
// argv: timedrdlock missing
// expect: clean
// argv: timedrdlock any
// expect: kind=assertion
// argv: timedwrlock found
// expect: kind=assertion
// argv: timedwrlock missing
// expect: clean
// argv: timedwrlock any
// expect: kind=assertion
// argv: clockrdlock found
// expect: kind=assertion
// argv: clockrdlock missing
// expect: clean
// argv: clockrdlock any
// expect: kind=assertion
// argv: clockwrlock found
// expect: kind=assertion
// argv: clockwrlock missing
// expect: clean
// argv: clockwrlock any
// expect: kind=assertion
// argv: sem found
// expect: kind=assertion
// argv: sem missing
// expect: clean
// argv: sem any
// expect: kind=assertion
// argv: semclock found
// expect: kind=assertion
// argv: semclock missing
// expect: clean
// argv: semclock any
// expect: kind=assertion
// argv: join found
// expect: kind=assertion
// argv: join missing
// expect: clean
// argv: join any
// expect: kind=assertion
// argv: joinclock found
// expect: kind=assertion
// argv: joinclock missing
// expect: clean
// argv: joinclock any
// expect: kind=assertion
// argv: cond found
// expect: kind=assertion
// argv: cond missing
// expect: clean
// argv: cond any
// expect: kind=assertion
// argv: condclock found
// expect: kind=assertion
// argv: condclock missing
// expect: clean
// argv: condclock any
// expect: kind=assertion
// argv: cnd found
// expect: kind=assertion
// argv: cnd missing
// expect: clean
// argv: cnd any
// expect: kind=assertion
// argv: futex found
// expect: kind=assertion
// argv: futex missing
// expect: clean
// argv: futex any
// expect: kind=assertion
// argv: bitset found
// expect: kind=assertion
// argv: bitset missing
// expect: clean
// argv: bitset any
// expect: kind=assertion
// argv: sleep found
// expect: kind=assertion
// argv: sleep missing
// expect: clean
// argv: sleep any
// expect: kind=assertion
// argv: poll found
// expect: kind=assertion
// argv: poll missing
// expect: clean
// argv: poll any
// expect: kind=assertion
// argv: select found
// expect: kind=assertion
// argv: select missing
// expect: clean
// argv: select any
// expect: kind=assertion
// argv: signal found
// expect: kind=assertion
// argv: signal missing
// expect: clean
// argv: signal any
#include "litmus.h"
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <threads.h>

MUTEX(lock);
COND(cond);
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;
static int word, done, pipes[2];
static const char *how;
static pthread_t first;

static int is(const char *what) { return !strcmp(how, what); }

static void *worker(void *arg)
{
  if (is("timedlock") || is("clocklock")) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
  if (is("mtx")) mtx_lock(&mtx), mtx_unlock(&mtx);
  if (is("timedrdlock") || is("clockrdlock")) pthread_rwlock_wrlock(&rwlock), pthread_rwlock_unlock(&rwlock);
  if (is("timedwrlock") || is("clockwrlock")) pthread_rwlock_rdlock(&rwlock), pthread_rwlock_unlock(&rwlock);
  if (is("sem") || is("semclock")) sem_post(&sem);
  if (is("cond") || is("condclock")) pthread_cond_signal(&cond);
  if (is("cnd")) cnd_signal(&cnd);
  if (is("futex") || is("bitset")) syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
  if (is("sleep")) poke(&done, 1);
  if (is("poll") || is("select")) assert(write(pipes[1], "x", 1) == 1);
  if (is("signal")) pthread_kill(first, SIGUSR1);
  return arg;
}

/* Whether it found what it waits for. */
static int call(pthread_t t, int *joined)
{
  struct timespec past = {1, 0}, zero = {0, 0};
  struct timeval none = {0, 0};
  struct pollfd p = {pipes[0], POLLIN, 0};
  fd_set set;
  sigset_t usr1;
  int e = 0;
  if (is("timedlock") && !(e = pthread_mutex_timedlock(&lock, &past))) pthread_mutex_unlock(&lock);
  if (is("clocklock") && !(e = pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &past))) pthread_mutex_unlock(&lock);
  if (is("mtx") && !(e = mtx_timedlock(&mtx, &past))) mtx_unlock(&mtx);
  if (is("timedrdlock") && !(e = pthread_rwlock_timedrdlock(&rwlock, &past))) pthread_rwlock_unlock(&rwlock);
  if (is("timedwrlock") && !(e = pthread_rwlock_timedwrlock(&rwlock, &past))) pthread_rwlock_unlock(&rwlock);
  if (is("clockrdlock") && !(e = pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &past)))
    pthread_rwlock_unlock(&rwlock);
  if (is("clockwrlock") && !(e = pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &past)))
    pthread_rwlock_unlock(&rwlock);
  if (is("sem")) e = sem_timedwait(&sem, &past);
  if (is("semclock")) e = sem_clockwait(&sem, CLOCK_MONOTONIC, &past);
  if (is("join") && !(e = pthread_timedjoin_np(t, NULL, &past))) *joined = 1;
  if (is("joinclock") && !(e = pthread_clockjoin_np(t, NULL, CLOCK_MONOTONIC, &past))) *joined = 1;
  pthread_mutex_lock(&lock);
  if (is("cond")) e = pthread_cond_timedwait(&cond, &lock, &past);
  if (is("condclock")) e = pthread_cond_clockwait(&cond, &lock, CLOCK_MONOTONIC, &past);
  pthread_mutex_unlock(&lock);
  mtx_lock(&mtx);
  if (is("cnd")) e = cnd_timedwait(&cnd, &mtx, &past);
  mtx_unlock(&mtx);
  if (is("futex")) e = (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &zero, 0, 0);
  if (is("bitset")) e = (int)syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &past, 0, 1);
  if (is("sleep")) usleep(0), nanosleep(&zero, NULL), sleep(0), clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL);
  if (is("sleep")) e = !peek(&done);
  if (is("poll")) e = poll(&p, 1, 0) != 1;
  FD_ZERO(&set);
  FD_SET(pipes[0], &set);
  if (is("select")) e = select(pipes[0] + 1, &set, NULL, NULL, &none) != 1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  if (is("signal")) e = sigtimedwait(&usr1, NULL, &zero) != SIGUSR1;
  return !e;
}

int main(int argc, char **argv)
{
  sigset_t usr1;
  int joined = 0;
  assert(argc == 3 && pipe(pipes) == 0);
  how = argv[1];
  first = pthread_self();
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, NULL);
  sem_init(&sem, 0, 0);
  mtx_init(&mtx, mtx_timed);
  cnd_init(&cnd);
  pthread_t t = spawn(worker, NULL);
  int found = call(t, &joined);
  if (!joined) join(t);
  if (!strcmp(argv[2], "found")) assert(found);
  if (!strcmp(argv[2], "missing")) assert(!found);
  return 0;
}
