// expect: clean executions=200
// native: no
/* Time-outs of poll, select and epoll are virtual: hours cost nothing, and pass only when nothing else can run. */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "litmus.h"

static int p[2];

static void *writer(void *arg)
{
  sleep(7200);
  assert(write(p[1], "x", 1) == 1);
  return arg;
}

int main(void)
{
  int s[2], ep = epoll_create1(0);
  char c;
  assert(pipe(p) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0);
  struct epoll_event ev = {.events = EPOLLIN};
  assert(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev) == 0);
  time_t start = time(NULL);
  pthread_t t = spawn(writer, NULL);
  struct pollfd f = {p[0], POLLIN, 0};
  struct timeval tv = {1800, 0};
  assert(poll(&f, 1, 1800 * 1000) == 0);
  assert(select(0, NULL, NULL, NULL, &tv) == 0);
  assert(epoll_wait(ep, &ev, 1, 1800 * 1000) == 0);
  assert(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){10, 0}, sizeof tv) == 0);
  assert(recv(s[0], &c, 1, 0) == -1 && errno == EAGAIN);
  assert(time(NULL) - start >= 5410 && time(NULL) - start < 5500);
  assert(poll(&f, 1, 24 * 3600 * 1000) == 1 && read(p[0], &c, 1) == 1);
  assert(time(NULL) - start >= 7200 && time(NULL) - start < 7300);
  join(t);
  return 0;
}
