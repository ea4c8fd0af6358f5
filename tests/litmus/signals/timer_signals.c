// Timers that send signals: alarm, setitimer and timer_create in virtual time, with handlers, pause, sigsuspend and
// sigwait. An hour passes at once. Wrong: a deadlock, behind an alarm that would end the process.
// restart: memory fork
// native: no
// expect: clean executions=50
// args: --strategy random
// argv: right
// expect: kind=deadlock
// argv: guard
// expect: kind=assertion
// argv: ticks
// where: function=ticker line=@ticks
// expect: kind=crash
// argv: killed
// says: SIGALRM
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "litmus.h"

static volatile sig_atomic_t rang, value;
static int wrong;

static void on_alarm(int sig) { rang += sig == SIGALRM; }
static void on_timer(int sig, siginfo_t *info, void *context)
{
  (void)context;
  if (sig == SIGUSR1 && info->si_code == SI_TIMER) value = info->si_value.sival_int;
}

static void alarms(void)
{
  time_t before = time(NULL);
  signal(SIGALRM, on_alarm);
  assert(alarm(3600) == 0);
  assert(alarm(1800) == 3600);
  assert(pause() == -1 && errno == EINTR && rang == 1);
  assert(time(NULL) - before >= 1800);
  sigset_t none, all, old;
  sigemptyset(&none);
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  alarm(5);
  sleep(10); /* the signal waits */
  assert(rang == 1);
  assert(sigsuspend(&none) == -1 && errno == EINTR && rang == 2);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  alarm(5);
  while (rang < 3) continue; /* spinning takes no time: it is time that ends it */
}

/* A thread that counts the ticks of an interval timer. */
static void *ticker(void *arg)
{
  struct itimerval every = {{1, 0}, {1, 0}}, off = {{0, 0}, {0, 0}}, left;
  sigset_t set;
  int sig, n = 0;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  assert(setitimer(ITIMER_REAL, &every, NULL) == 0);
  assert(getitimer(ITIMER_REAL, &left) == 0 && left.it_interval.tv_sec == 1);
  for (; n < 3; n++) assert(sigwait(&set, &sig) == 0 && sig == SIGALRM);
  assert(!wrong); /* @ticks */
  setitimer(ITIMER_REAL, &off, NULL);
  return arg;
}

static void posix_timers(void)
{
  timer_t t;
  struct sigaction sa = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO};
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  struct itimerspec in = {{0, 0}, {60, 0}}, left;
  event.sigev_value.sival_int = 42;
  sigaction(SIGUSR1, &sa, NULL);
  assert(timer_create(CLOCK_MONOTONIC, &event, &t) == 0);
  assert(timer_settime(t, 0, &in, NULL) == 0);
  assert(timer_gettime(t, &left) == 0 && left.it_value.tv_sec > 50);
  pause();
  assert(value == 42 && timer_getoverrun(t) == 0 && timer_delete(t) == 0);
}

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *ab(void *arg)
{
  pthread_mutex_lock(&a);
  pthread_mutex_lock(&b);
  pthread_mutex_unlock(&b);
  pthread_mutex_unlock(&a);
  return arg;
}
static void *ba(void *arg)
{
  pthread_mutex_lock(&b);
  pthread_mutex_lock(&a);
  pthread_mutex_unlock(&a);
  pthread_mutex_unlock(&b);
  return arg;
}

int main(int argc, char **argv)
{
  const char *what = argc > 1 ? argv[1] : "right";
  if (!strcmp(what, "guard")) {
    alarm(10);
    both(ab, ba);
    return 0;
  }
  if (!strcmp(what, "killed")) {
    alarm(1);
    pause();
    return 0;
  }
  wrong = !strcmp(what, "ticks");
  if (!wrong) alarms();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGALRM);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  join(spawn(ticker, NULL));
  posix_timers();
  return 0;
}
