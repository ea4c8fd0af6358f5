// A server masks SIGTERM except while it waits for clients, in each of the calls that take a mask: it ends, whenever the
// signal comes, without a client.
// expect: clean
// argv: ppoll
// expect: clean
// argv: select
// expect: clean
// argv: epoll
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static sigset_t usual;
static int server, events;

static void handler(int sig) {
  (void)sig;
  stop = 1;
}

static void *killer(void *arg) {
  kill(getpid(), SIGTERM);
  return arg;
}

static int wait_for_client(char how) {
  struct pollfd p = {server, POLLIN, 0};
  struct epoll_event e;
  fd_set set;
  if (how == 'p') return ppoll(&p, 1, NULL, &usual);
  if (how == 'e') return epoll_pwait(events, &e, 1, -1, &usual);
  FD_ZERO(&set);
  FD_SET(server, &set);
  return pselect(server + 1, &set, NULL, NULL, NULL, &usual);
}

int main(int argc, char **argv) {
  struct sigaction act = {.sa_handler = handler};
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct epoll_event e = {.events = EPOLLIN};
  sigset_t term;
  pthread_t t;
  sigaction(SIGTERM, &act, NULL);
  server = socket(AF_INET, SOCK_STREAM, 0);
  assert(bind(server, (struct sockaddr *)&a, sizeof a) == 0 && listen(server, 5) == 0);
  events = epoll_create1(0);
  epoll_ctl(events, EPOLL_CTL_ADD, server, &e);
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &term, &usual);
  pthread_create(&t, NULL, killer, NULL);
  while (!stop) {
    int n = wait_for_client(argc > 1 ? argv[1][0] : 'p');
    assert(n < 0 && errno == EINTR && stop);
  }
  pthread_join(t, NULL);
  return 0;
}
