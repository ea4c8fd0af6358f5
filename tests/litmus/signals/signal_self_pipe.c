// A handler that writes to a pipe, and a loop that waits for it: the usual way to handle signals in a loop. Wrong: a
// byte per signal is expected, although the handler does not write to a pipe that it considers full, or although two
// signals that are pending at the same time are one.
// expect: clean executions=200
// expect: kind=deadlock
// argv: skip
// where: function=main line=@poll
// expect: kind=deadlock
// argv: skip merge
// where: function=main line=@poll
#include "litmus.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

static int way[2], skip, pending, number;

static void handler(int sig)
{
  char c = (char)sig;
  int e = errno;
  if (!skip || !__atomic_exchange_n(&pending, 1, __ATOMIC_SEQ_CST)) assert(write(way[1], &c, 1) == 1);
  errno = e;
}

static void *sender(void *arg)
{
  kill(getpid(), number);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  skip = argc == 2;
  number = argc > 2 ? SIGUSR1 : SIGRTMIN; /* which queue */
  assert(pipe2(way, O_CLOEXEC) == 0);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  sigaction(number, &action, NULL);
  pthread_t a = spawn(sender, NULL), b = spawn(sender, NULL);
  for (int i = 0; i < 2; i++) {
    struct pollfd ready = {way[0], POLLIN, 0};
    char c = 0;
    while (poll(&ready, 1, -1) < 0) assert(errno == EINTR); /* @poll */
    assert(read(way[0], &c, 1) == 1 && c == number);
    __atomic_store_n(&pending, 0, __ATOMIC_SEQ_CST);
  }
  join(a);
  join(b);
  return 0;
}
