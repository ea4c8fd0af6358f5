// State of the process that some calls look at: the time zone, `environ`, whether exec closes a number, options of a socket,
// the processors of a thread, exit handlers.
// expect: kind=assertion
// argv: zone
// expect: kind=data-race
// argv: environ
// expect: kind=assertion
// argv: cloexec
// expect: kind=assertion
// argv: option
// expect: kind=assertion
// argv: processors
// expect: kind=exit
// argv: handler
// expect: clean
// argv: before
// expect: clean
// argv: others
// native: no
#include "litmus.h"
#include <fcntl.h>
#include <sys/socket.h>

extern char **environ;
static const char *how;
static int is(const char *what) { return !strcmp(how, what); }
static int fd[2], one = 1;
static pthread_t first;
static void ends(void) { _exit(4); }

static void *changes(void *arg)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  if (is("zone")) setenv("TZ", "UTC-5", 1), tzset();
  if (is("environ")) setenv("LITMUS", "1", 1);
  if (is("cloexec")) fcntl(fd[0], F_SETFD, FD_CLOEXEC);
  if (is("option")) setsockopt(fd[0], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  if (is("others")) fcntl(fd[1], F_SETFD, FD_CLOEXEC), setsockopt(fd[1], SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  if (is("others")) setenv("LITMUS", "2", 1);
  if (is("processors")) pthread_setaffinity_np(first, sizeof set, &set);
  if (is("handler")) atexit(ends);
  return arg;
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  how = argv[1];
  first = pthread_self();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  CPU_SET(1, &set);
  pthread_setaffinity_np(first, sizeof set, &set);
  setenv("TZ", "UTC", 1);
  tzset();
  assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
  pthread_t t = spawn(changes, NULL);
  struct tm tm;
  time_t zero = 0;
  localtime_r(&zero, &tm);
  int n = 0, keep = 0;
  if (is("environ"))
    for (char **e = environ; *e; e++) n++;
  socklen_t size = sizeof keep;
  if (is("others")) setenv("LITMUS", "3", 1);
  getsockopt(fd[0], SOL_SOCKET, SO_KEEPALIVE, &keep, &size);
  int flags = fcntl(fd[0], F_GETFD);
  pthread_getaffinity_np(first, sizeof set, &set);
  if (is("handler")) exit(0);
  join(t);
  assert(n >= 0 && n < 10000 && tm.tm_hour == 0 && keep == 0 && flags == 0 && CPU_COUNT(&set) == 2);
  return 0;
}
