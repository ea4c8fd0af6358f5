// Time limits of input have two outcomes: the data arrives, or the time runs out although another thread is about to
// write it. A thread that then assumes that nothing will come is wrong; one that checks again is correct. Without the
// option, time runs out only when no thread can run.
// expect: clean executions=100
// argv: poll
// expect: kind=assertion
// args: --timeouts=any
// argv: poll
// where: function=check line=@gone
// expect: kind=assertion
// args: --timeouts=any
// argv: select
// where: function=check line=@gone
// expect: kind=assertion
// args: --timeouts=any
// argv: epoll
// where: function=check line=@gone
// expect: kind=assertion
// args: --timeouts=any
// argv: receive
// where: function=check line=@gone
// expect: clean executions=300
// args: --timeouts=any --strategy random
// argv: right
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "litmus.h"

static int s[2];
static const char *how;

static void *writer(void *arg)
{
  assert(write(s[1], "x", 1) == 1);
  return arg;
}

/* Waits for a minute at most. Returns whether there is something to read. */
static int wait(void)
{
  struct timeval minute = {60, 0};
  if (!strcmp(how, "select")) {
    fd_set in;
    FD_ZERO(&in);
    FD_SET(s[0], &in);
    return select(s[0] + 1, &in, NULL, NULL, &minute);
  }
  if (!strcmp(how, "epoll")) {
    struct epoll_event ev = {.events = EPOLLIN};
    int ep = epoll_create1(0);
    assert(epoll_ctl(ep, EPOLL_CTL_ADD, s[0], &ev) == 0);
    return epoll_wait(ep, &ev, 1, 60000);
  }
  if (!strcmp(how, "receive")) {
    char c;
    assert(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute) == 0);
    ssize_t n = recv(s[0], &c, 1, MSG_PEEK);
    assert(n == 1 || (n == -1 && errno == EAGAIN));
    return n == 1;
  }
  struct pollfd f = {s[0], POLLIN, 0};
  return poll(&f, 1, 60000);
}

static void check(int got)
{
  assert(got); /* @gone */
}

int main(int argc, char **argv)
{
  char c;
  how = argc > 1 ? argv[1] : "poll";
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
  pthread_t t = spawn(writer, NULL);
  int got = wait();
  if (strcmp(how, "right")) check(got);
  while (!got) got = wait();
  assert(read(s[0], &c, 1) == 1 && c == 'x');
  join(t);
  return 0;
}
