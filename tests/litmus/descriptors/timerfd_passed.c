// expect: clean executions=20
// native: no
/* A timer whose time passes while nobody waits for it has expired when somebody looks. */
#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>

#include "litmus.h"

static int timer;

static void *setter(void *arg)
{
  struct itimerspec s = {.it_value = {0, 1000000}, .it_interval = {0, 1000000}};
  assert(timerfd_settime(timer, 0, &s, NULL) == 0);
  return arg;
}

int main(void)
{
  struct timespec d = {0, 3500000};
  uint64_t n = 0;
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  join(spawn(setter, NULL));
  struct pollfd p = {timer, POLLIN, 0};
  nanosleep(&d, NULL);
  assert(poll(&p, 1, 0) == 1);
  assert(read(timer, &n, sizeof n) == sizeof n && n == 3);
  assert(read(timer, &n, sizeof n) < 0 && errno == EAGAIN);
  return 0;
}
