// The setting of a timer is state of the process: whether one thread sets it before another one looks. Right: a loop that
// looks at a timer until it has expired, while another thread sets it again.
// expect: kind=assertion
// argv: alarm
// expect: kind=assertion
// argv: interval
// expect: kind=assertion
// argv: timer
// expect: kind=assertion
// argv: deleted
// expect: clean
// argv: loop
// expect: clean
// argv: fd-loop
#include <signal.h>
#include <sys/time.h>
#include <sys/timerfd.h>

#include "litmus.h"

static timer_t timer;
static int fd;
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }

static void *change(void *arg)
{
  struct itimerval interval = {{0, 0}, {50, 0}};
  struct itimerspec value = {{0, 0}, {50, 0}}, soon = {{0, 0}, {0, 2000000}};
  if (is("alarm")) alarm(50);
  if (is("interval")) setitimer(ITIMER_REAL, &interval, NULL);
  if (is("timer")) timer_settime(timer, 0, &value, NULL);
  if (is("deleted")) timer_delete(timer);
  if (is("loop")) timer_settime(timer, 0, &soon, NULL);
  if (is("fd-loop")) timerfd_settime(fd, 0, &soon, NULL);
  return arg;
}

int main(int argc, char **argv)
{
  struct sigevent none = {.sigev_notify = SIGEV_NONE};
  struct itimerval interval;
  struct itimerspec value = {{0, 0}, {0, 1000000}};
  what = argc > 1 ? argv[1] : "";
  timer_create(CLOCK_MONOTONIC, &none, &timer);
  fd = timerfd_create(CLOCK_MONOTONIC, 0);
  if (is("loop")) timer_settime(timer, 0, &value, NULL);
  if (is("fd-loop")) timerfd_settime(fd, 0, &value, NULL);
  pthread_t t = spawn(change, NULL);
  if (is("alarm")) assert(alarm(0) == 0);
  if (is("interval")) assert(getitimer(ITIMER_REAL, &interval) == 0 && !interval.it_value.tv_sec);
  if (is("timer")) assert(timer_gettime(timer, &value) == 0 && !value.it_value.tv_sec);
  if (is("deleted")) assert(timer_gettime(timer, &value) == 0);
  while (is("loop") && timer_gettime(timer, &value) == 0 && value.it_value.tv_nsec) {}
  while (is("fd-loop") && timerfd_gettime(fd, &value) == 0 && value.it_value.tv_nsec) {}
  join(t);
  return 0;
}
