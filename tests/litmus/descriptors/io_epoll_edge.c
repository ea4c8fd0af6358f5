// An edge-triggered epoll: a reader that does not drain the descriptor is not notified of the rest.
// expect: clean executions=200
// expect: kind=deadlock
// argv: once
// where: function=main line=@wait
#include "litmus.h"
#include <fcntl.h>
#include <sys/epoll.h>

static int way[2];

static void *writer(void *arg)
{
  assert(write(way[1], "ab", 2) == 2);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  int ep = epoll_create1(0), got = 0;
  char c;
  assert(pipe2(way, O_NONBLOCK) == 0);
  struct epoll_event e = {.events = EPOLLIN | EPOLLET};
  assert(epoll_ctl(ep, EPOLL_CTL_ADD, way[0], &e) == 0);
  pthread_t t = spawn(writer, NULL);
  while (got < 2) {
    assert(epoll_wait(ep, &e, 1, -1) == 1); /* @wait */
    while (read(way[0], &c, 1) == 1) {
      got++;
      if (argc > 1) break;
    }
  }
  join(t);
  return 0;
}
