// Calls that change the mask while they wait: a signal ends them, also one that was sent before, unless something is ready.
// expect: clean executions=50
// argv: poll
// expect: clean executions=50
// argv: select
// expect: clean executions=50
// argv: epoll
// expect: clean executions=50
// argv: ready
// expect: kind=assertion
// argv: interrupted
// where: function=wait_ready line=@interrupted
// expect: kind=assertion
// argv: found
// where: function=wait_ready line=@found
// expect: kind=assertion
// argv: zero
// where: function=main line=@zero
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

static pthread_t first;
static int ends[2];
static volatile sig_atomic_t handled;
static const char *how;
static sigset_t open_mask;

static void handler(int sig) {
  (void)sig;
  handled = 1;
}

static void *sends(void *unused) {
  if (!strcmp(how, "ready")) write(ends[1], "a", 1);
  pthread_kill(first, SIGUSR1);
  if (!strcmp(how, "interrupted") || !strcmp(how, "found")) write(ends[1], "a", 1);
  return unused;
}

static void wait_ready(void) {
  struct pollfd p = {ends[0], POLLIN, 0};
  int n = ppoll(&p, 1, NULL, &open_mask);
  if (!strcmp(how, "ready")) assert(n == 1 && !handled);
  if (!strcmp(how, "interrupted")) assert(n == -1); /* @interrupted */
  if (!strcmp(how, "found")) assert(n == 1);        /* @found */
}

int main(int argc, char **argv) {
  how = argc > 1 ? argv[1] : "poll";
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigset_t blocked;
  struct timespec zero = {0, 0};
  struct epoll_event event;
  pthread_t t;
  pipe(ends);
  first = pthread_self();
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &open_mask);
  sigaction(SIGUSR1, &action, NULL);
  int ep = epoll_create1(0);
  pthread_create(&t, NULL, sends, NULL);
  if (!strcmp(how, "poll"))
    while (!handled) assert(ppoll(NULL, 0, NULL, &open_mask) == -1 && errno == EINTR);
  else if (!strcmp(how, "select"))
    while (!handled) assert(pselect(0, NULL, NULL, NULL, NULL, &open_mask) == -1 && errno == EINTR);
  else if (!strcmp(how, "epoll"))
    assert(epoll_pwait(ep, &event, 1, -1, &open_mask) == -1 && errno == EINTR && handled);
  else if (!strcmp(how, "zero"))
    assert(pselect(0, NULL, NULL, NULL, &zero, &open_mask) == 0); /* @zero */
  else
    wait_ready();
  pthread_join(t, NULL);
  return 0;
}
