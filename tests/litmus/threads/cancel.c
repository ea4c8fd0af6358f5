// Cancelling threads: at waits, sleeps, joins and on request; with cleanup handlers, or without the one that matters.
// restart: memory fork
// expect: clean executions=100
// args: --strategy random
// argv: cond
// expect: clean executions=100
// args: --strategy random
// argv: sem
// expect: clean executions=100
// args: --strategy random
// argv: sleep
// expect: clean executions=100
// args: --strategy random
// argv: join
// expect: clean executions=100
// args: --strategy random
// argv: test
// expect: clean executions=100
// args: --strategy random
// argv: off
// expect: kind=deadlock
// argv: forget
// where: function=main role=waits
#include "litmus.h"
#include <semaphore.h>

MUTEX(lock);
COND(never);
static sem_t none;
static int cleaned, ended;
static const char *what;

static void *sleeper(void *arg)
{
  sleep(1);
  return arg;
}

static void unlock(void *arg)
{
  assert(arg == &lock);
  cleaned++;
  pthread_mutex_unlock(&lock);
}

static void *victim(void *arg)
{
  pthread_mutex_lock(&lock);
  if (!strcmp(what, "forget")) {
    pthread_cond_wait(&never, &lock);
    pthread_mutex_unlock(&lock);
  }
  pthread_cleanup_push(unlock, &lock);
  while (!strcmp(what, "cond")) pthread_cond_wait(&never, &lock);
  if (!strcmp(what, "sem")) sem_wait(&none);
  if (!strcmp(what, "sleep")) sleep(100);
  if (!strcmp(what, "join")) {
    pthread_t t = spawn(sleeper, NULL);
    pthread_detach(t);
    for (;;) pthread_testcancel(), sched_yield(), sleep(1);
  }
  if (!strcmp(what, "test")) for (;;) pthread_testcancel(), sched_yield(), sleep(1);
  if (!strcmp(what, "off")) {
    int old;
    assert(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
    sleep(1);
    ended = 1;
    assert(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL) == 0);
    sem_wait(&none);
  }
  assert(!"not reached");
  pthread_cleanup_pop(1);
  return arg;
}

int main(int argc, char **argv)
{
  void *ret = NULL;
  what = argc > 1 ? argv[1] : "cond";
  sem_init(&none, 0, 0);
  pthread_t t = spawn(victim, NULL);
  assert(pthread_cancel(t) == 0);
  assert(pthread_join(t, &ret) == 0);
  assert(ret == PTHREAD_CANCELED);
  pthread_mutex_lock(&lock);
  assert(cleaned == 1 && ended == !strcmp(what, "off"));
  pthread_mutex_unlock(&lock);
  return 0;
}
