// Loops that wait by calls which find and change nothing end when another thread does something.
// expect: clean
// argv: read
// expect: clean
// argv: poll
// expect: clean
// argv: number
// expect: clean
// argv: flags
// expect: clean
// argv: name
// expect: kind=livelock
// argv: never
// args: --strategy optimal
#include <fcntl.h>
#include <poll.h>

#include "litmus.h"

static int ends[2];
static const char *how;

static void *waiter(void *arg)
{
  char c;
  struct pollfd p = {ends[0], POLLIN, 0};
  if (!strcmp(how, "read") || !strcmp(how, "never"))
    while (read(ends[0], &c, 1) < 0 && errno == EAGAIN) {}
  else if (!strcmp(how, "poll"))
    while (poll(&p, 1, 0) == 0) {}
  else if (!strcmp(how, "number"))
    while (fcntl(ends[0], F_GETFD) >= 0) {}
  else if (!strcmp(how, "flags"))
    while (!(fcntl(ends[1], F_GETFL) & O_APPEND)) {}
  else
    while (access("poll_loops.tmp", F_OK)) {}
  return arg;
}

int main(int argc, char **argv)
{
  if (argc < 2 || pipe2(ends, O_NONBLOCK)) abort();
  how = argv[1];
  pthread_t t = spawn(waiter, NULL);
  if (!strcmp(how, "number"))
    close(ends[0]);
  else if (!strcmp(how, "flags"))
    fcntl(ends[1], F_SETFL, O_APPEND | O_NONBLOCK);
  else if (!strcmp(how, "name"))
    close(open("poll_loops.tmp", O_CREAT | O_RDWR, 0600));
  else if (strcmp(how, "never"))
    if (write(ends[1], "x", 1) != 1) abort();
  join(t);
  return 0;
}
