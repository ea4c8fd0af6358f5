// Sleeps and time-outs that end at the same time, or nearly: who goes on first is up to the schedule. Far apart they are
// taken at their word, and the search says so where it matters.
// expect: kind=assertion
// args: --strategy optimal
// argv: equal
// expect: kind=assertion
// args: --strategy optimal
// argv: close
// expect: clean
// argv: apart
// expect: exact executions=2 dfs=no
// argv: order
// expect: kind=assertion
// args: --strategy optimal
// argv: lock
// expect: kind=assertion
// args: --strategy optimal
// argv: sem
// expect: kind=assertion
// args: --strategy optimal
// argv: cond
// expect: kind=assertion
// args: --strategy optimal
// argv: futex
// expect: kind=assertion
// args: --strategy optimal
// argv: join
// expect: clean
// argv: unrelated
#include "litmus.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/syscall.h>

MUTEX(lock);
COND(cond);
static sem_t sem;
static int x, y, word, result;
static const char *how;

static int is(const char *what) { return !strcmp(how, what); }

static struct timespec in(long ms)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_nsec += ms * 1000000;
  t.tv_sec += t.tv_nsec / 1000000000;
  t.tv_nsec %= 1000000000;
  return t;
}

static void add(void)
{
  int v = peek(&x);
  poke(&x, v + 1);
}

static void *first(void *arg)
{
  if (is("lock")) pthread_mutex_lock(&lock);
  usleep(20000);
  if (is("equal") || is("close") || is("apart")) add();
  if (is("order")) poke(&x, 1);
  if (is("unrelated")) poke(&x, 1);
  if (is("lock")) pthread_mutex_unlock(&lock);
  if (is("sem")) sem_post(&sem);
  if (is("cond")) pthread_cond_signal(&cond);
  if (is("futex")) syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
  return arg;
}

static void *second(void *arg)
{
  struct timespec at = in(20), relative = {0, 20000000};
  if (is("equal")) usleep(20000), add();
  if (is("close")) usleep(20500), add();
  if (is("apart")) usleep(80000), add();
  if (is("order")) usleep(20000), poke(&x, 2);
  if (is("unrelated")) usleep(80000), poke(&y, 1);
  if (is("lock") && !(result = pthread_mutex_timedlock(&lock, &at))) pthread_mutex_unlock(&lock);
  if (is("sem")) result = sem_timedwait(&sem, &at);
  pthread_mutex_lock(&lock);
  if (is("cond")) result = pthread_cond_timedwait(&cond, &lock, &at);
  pthread_mutex_unlock(&lock);
  if (is("futex")) result = (int)syscall(SYS_futex, &word, FUTEX_WAIT, 0, &relative, 0, 0);
  return arg;
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  how = argv[1];
  sem_init(&sem, 0, 0);
  pthread_t a = spawn(first, NULL);
  if (is("join")) {
    struct timespec at = in(20);
    result = pthread_timedjoin_np(a, NULL, &at);
    if (result) join(a);
  } else {
    pthread_t b = spawn(second, NULL);
    join(a);
    join(b);
  }
  if (is("equal") || is("close") || is("apart")) assert(x == 2);
  assert(result == 0);
  return 0;
}
