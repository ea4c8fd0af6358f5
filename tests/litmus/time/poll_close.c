// Time-outs of waits for descriptors, and timers, that end at nearly the same time: as for sleeps (sleep_close.c).
// expect: kind=assertion
// args: --strategy optimal
// argv: polls
// expect: kind=assertion
// args: --strategy optimal
// argv: ready
// expect: kind=assertion
// args: --strategy optimal
// argv: receive
// expect: kind=assertion
// args: --strategy optimal
// argv: timer
// expect: clean
// argv: apart
// expect: clean
// argv: unrelated
// expect: kind=assertion
// args: --strategy optimal
// argv: setting
// expect: clean
// argv: wait
#include "litmus.h"
#include <poll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

static int x, y, result = 1, fd[2], timer;
static const char *how;

static int is(const char *what) { return !strcmp(how, what); }

static void add(void)
{
  int v = peek(&x);
  poke(&x, v + 1);
}

static void set(long ms)
{
  struct itimerspec t = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
  timerfd_settime(timer, 0, &t, NULL);
}

static void *first(void *arg)
{
  if (is("setting") || is("wait")) {
    set(100);
    return arg;
  }
  poll(NULL, 0, 5);
  if (is("polls") || is("apart")) add();
  if (is("ready")) assert(write(fd[1], "x", 1) == 1);
  if (is("receive")) assert(send(fd[1], "x", 1, 0) == 1);
  if (is("timer") || is("unrelated")) poke(&x, 1);
  return arg;
}

static void *second(void *arg)
{
  char c;
  uint64_t n;
  struct pollfd p = {fd[0], POLLIN, 0};
  struct itimerspec now;
  if (is("polls")) poll(NULL, 0, 5), add();
  if (is("apart")) poll(NULL, 0, 500), add();
  if (is("ready")) result = poll(&p, 1, 5);
  if (is("receive")) result = (int)recv(fd[0], &c, 1, 0);
  if (is("timer")) set(5), assert(read(timer, &n, 8) == 8), result = peek(&x);
  if (is("unrelated")) poll(NULL, 0, 5), poke(&y, 1);
  if (is("setting")) timerfd_gettime(timer, &now), result = now.it_value.tv_nsec == 0;
  if (is("wait")) assert(read(timer, &n, 8) == 8);
  return arg;
}

int main(int argc, char **argv)
{
  struct timeval limit = {0, 5000};
  assert(argc == 2);
  how = argv[1];
  assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
  setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  timer = timerfd_create(CLOCK_MONOTONIC, 0);
  both(first, second);
  if (is("polls") || is("apart")) assert(x == 2);
  assert(result == 1);
  return 0;
}
