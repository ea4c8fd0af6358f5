// expect: exact executions=1
// argv: epoll
// expect: exact executions=1
// argv: socket
/* Two threads wait equally long for what never comes. Time passes for the first, and then the second goes on: it could not
 * have come before that, although both read the same descriptor. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "litmus.h"

static int poller, pair[2];

static void *polls(void *arg) {
  struct epoll_event e;
  assert(epoll_wait(poller, &e, 1, 5) == 0);
  return arg;
}

static void *receives(void *arg) {
  char c;
  assert(read(pair[0], &c, 1) == -1 && errno == EAGAIN);
  return arg;
}

int main(int argc, char **argv) {
  int epoll = argc > 1 && argv[1][0] == 'e';
  struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT};
  struct timeval limit = {.tv_usec = 5000};
  poller = epoll_create1(0);
  assert(!epoll_ctl(poller, EPOLL_CTL_ADD, eventfd(0, 0), &e));
  assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  assert(!setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
  pthread_t a = spawn(epoll ? polls : receives, NULL), b = spawn(epoll ? polls : receives, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
