// A handler ends a call that has transferred something already: it returns how much, with and without SA_RESTART. One
// that opens a FIFO returns EINTR, or waits again.
// native: no
// expect: clean
// argv: 0 write
// expect: clean
// argv: restart write
// expect: kind=assertion
// argv: restart all
// where: function=main line=@all
// expect: clean
// argv: 0 receive
// expect: clean
// argv: restart receive
// expect: clean
// argv: 0 fifo
// expect: clean
// argv: restart fifo
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "litmus.h"

static const char *what;
static int way[2], handled;
static char fifo[] = "fifo-XXXXXX", data[8192];
static pthread_t first;

static int is(const char *name) { return !strcmp(what, name); }

static void handler(int sig)
{
  (void)sig;
  __atomic_store_n(&handled, 1, __ATOMIC_SEQ_CST);
}

static void *other(void *arg)
{
  char part[4096];
  if (is("receive")) assert(write(way[1], "x", 1) == 1);
  pthread_kill(first, SIGUSR1);
  if (is("receive")) assert(write(way[1], "y", 1) == 1);
  if (is("fifo")) assert(open(fifo, O_WRONLY) >= 0);
  if (is("write") || is("all"))
    while (read(way[0], part, sizeof part) > 0) {}
  return arg;
}

int main(int argc, char **argv)
{
  struct sigaction a = {.sa_handler = handler};
  char two[2];
  long r;
  if (argc < 3) return 0;
  int restart = argv[1][0] == 'r';
  what = argv[2];
  first = pthread_self();
  a.sa_flags = restart ? SA_RESTART : 0;
  sigaction(SIGUSR1, &a, NULL);
  assert((is("receive") ? socketpair(AF_UNIX, SOCK_STREAM, 0, way) : pipe(way)) == 0);
  if (is("write") || is("all")) assert(fcntl(way[1], F_SETPIPE_SZ, 4096) == 4096);
  if (is("fifo")) {
    close(mkstemp(fifo));
    unlink(fifo);
    assert(mkfifo(fifo, 0600) == 0);
  }
  pthread_t t = spawn(other, NULL);
  if (is("receive"))
    r = recv(way[0], two, 2, MSG_WAITALL);
  else if (is("fifo"))
    while ((r = open(fifo, O_RDONLY)) < 0) assert(errno == EINTR && !restart && handled);
  else
    r = write(way[1], data, sizeof data);
  if (is("all")) assert(r == 8192); /* @all */
  if (is("receive")) assert(r == 1 || r == 2 || (r < 0 && errno == EINTR && !restart));
  if (is("write")) assert(r == 8192 || r == 4096 || (r < 0 && errno == EINTR && !restart));
  if (!is("receive")) close(way[1]);
  join(t);
  if (is("fifo")) unlink(fifo);
  return 0;
}
