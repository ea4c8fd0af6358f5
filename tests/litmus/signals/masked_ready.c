// What is ready comes before a signal that only the wait lets in, as in the kernel: the signal stays pending until the next
// wait.
// expect: exact executions=1
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static void handler(int sig) {
  (void)sig;
  handled = 1;
}

static void *nothing(void *arg) { return arg; }

int main(void) {
  struct sigaction act = {.sa_handler = handler};
  struct timespec none = {0, 0};
  sigset_t usr, usual;
  pthread_t t;
  int fd[2];
  char c;
  assert(pipe(fd) == 0);
  struct pollfd p = {fd[0], POLLIN, 0};
  sigaction(SIGUSR1, &act, NULL);
  sigemptyset(&usr);
  sigaddset(&usr, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr, &usual);
  pthread_create(&t, NULL, nothing, NULL);
  pthread_join(t, NULL);
  assert(write(fd[1], "x", 1) == 1);
  raise(SIGUSR1);
  assert(ppoll(&p, 1, NULL, &usual) == 1 && !handled);
  assert(read(fd[0], &c, 1) == 1);
  assert(ppoll(&p, 1, NULL, &usual) == -1 && errno == EINTR && handled);
  handled = 0;
  assert(ppoll(&p, 1, &none, &usual) == 0 && !handled);
  return 0;
}
