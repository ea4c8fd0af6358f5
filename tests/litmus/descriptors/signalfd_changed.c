// expect: kind=assertion
// where: function=main
// expect: exact executions=2
// argv: either
/* A thread changes which signals an open signalfd reports, beside a read that does not wait. */
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "litmus.h"

static int fd;

static void *change(void *arg) {
  sigset_t none;
  sigemptyset(&none);
  assert(signalfd(fd, &none, 0) == fd);
  return arg;
}

int main(int argc, char **argv) {
  (void)argv;
  struct signalfd_siginfo info;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  fd = signalfd(-1, &set, SFD_NONBLOCK);
  assert(signalfd(fd, NULL, 0) == -1 && errno == EINVAL);
  raise(SIGUSR1);
  pthread_t t = spawn(change, NULL);
  ssize_t n = read(fd, &info, sizeof info);
  assert(n == sizeof info || (argc > 1 && n == -1 && errno == EAGAIN));
  pthread_join(t, NULL);
  return 0;
}
