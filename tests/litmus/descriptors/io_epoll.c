// expect: exact executions=6
/* A loop around epoll over two eventfds, each signalled by a thread. */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "litmus.h"

static int e[2], ep;

static void *signaller(void *arg)
{
  uint64_t one = 1;
  assert(write(*(int *)arg, &one, sizeof one) == sizeof one);
  return arg;
}

int main(void)
{
  int left = 2;
  ep = epoll_create1(0);
  for (int i = 0; i < 2; i++) {
    e[i] = eventfd(0, EFD_NONBLOCK);
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = e[i]};
    assert(epoll_ctl(ep, EPOLL_CTL_ADD, e[i], &ev) == 0);
  }
  pthread_t a = spawn(signaller, &e[0]), b = spawn(signaller, &e[1]);
  while (left) {
    struct epoll_event ev[2];
    uint64_t n;
    int k = epoll_wait(ep, ev, 2, -1);
    assert(k >= 1 && k <= left);
    for (int i = 0; i < k; i++) assert(read(ev[i].data.fd, &n, sizeof n) == sizeof n && n == 1);
    left -= k;
  }
  join(a);
  join(b);
  return 0;
}
