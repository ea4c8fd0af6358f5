// expect: clean executions=100
// native: no
/* A timer that is a descriptor follows virtual time: one shot, periods, absolute times, through epoll. */
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "litmus.h"

static void *sleeper(void *arg)
{
  sleep(2500);
  return arg;
}

int main(void)
{
  int t = timerfd_create(CLOCK_MONOTONIC, 0), ep = epoll_create1(0);
  uint64_t n;
  struct itimerspec in = {{0, 0}, {3600, 0}}, left;
  struct timespec now;
  time_t start = time(NULL);
  assert(timerfd_settime(t, 0, &in, NULL) == 0);
  assert(timerfd_gettime(t, &left) == 0 && left.it_value.tv_sec >= 3599);
  assert(read(t, &n, sizeof n) == sizeof n && n == 1);
  assert(time(NULL) - start >= 3600 && time(NULL) - start < 3610);
  in = (struct itimerspec){{1000, 0}, {1000, 0}};
  assert(timerfd_settime(t, 0, &in, NULL) == 0);
  pthread_t th = spawn(sleeper, NULL);
  struct epoll_event ev = {.events = EPOLLIN};
  assert(epoll_ctl(ep, EPOLL_CTL_ADD, t, &ev) == 0 && epoll_wait(ep, &ev, 1, -1) == 1);
  join(th); /* after the second period */
  assert(read(t, &n, sizeof n) == sizeof n && n >= 1);
  clock_gettime(CLOCK_MONOTONIC, &now);
  in = (struct itimerspec){{0, 0}, {now.tv_sec + 60, 0}};
  assert(timerfd_settime(t, TFD_TIMER_ABSTIME, &in, NULL) == 0);
  start = time(NULL);
  assert(read(t, &n, sizeof n) == sizeof n && n == 1);
  assert(time(NULL) - start >= 59 && time(NULL) - start < 62);
  return 0;
}
