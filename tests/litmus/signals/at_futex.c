// A futex wait that a handler interrupts returns EINTR, unless the handler has SA_RESTART.
// expect: clean
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t word, handled;

static void handler(int sig) {
  (void)sig;
  handled = word = 1;
}

static void *waiter(void *arg) {
  while (!handled) {
    long r = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
    assert(r == 0 || errno == EINTR || errno == EAGAIN);
  }
  return arg;
}

int main(void) {
  pthread_t t;
  struct sigaction a = {.sa_handler = handler}, b = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(SIGUSR1, &a, NULL);
  sigaction(SIGUSR2, &b, NULL);
  for (int i = 0; i < 2; i++) {
    word = handled = 0;
    pthread_create(&t, NULL, waiter, NULL);
    pthread_kill(t, i ? SIGUSR2 : SIGUSR1);
    pthread_join(t, NULL);
  }
  return 0;
}
