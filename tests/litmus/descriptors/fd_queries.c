// What a call finds out depends on a change by another thread: the end of the data in a file, the position, the flags, the
// folder from which a name is looked up, a timer, an extended attribute, the owner, a time limit. Right: limits of
// descriptors are those of their numbers, and a range of them gets a flag without being closed.
// expect: kind=assertion
// argv: hole
// expect: kind=assertion
// argv: position
// expect: kind=assertion
// argv: append
// expect: kind=assertion
// argv: folder
// expect: kind=assertion
// argv: other-folder
// expect: kind=assertion
// argv: working-folder
// expect: kind=assertion
// argv: timer
// expect: kind=assertion
// argv: attribute
// expect: kind=assertion
// argv: owner
// expect: kind=assertion
// argv: socket
// expect: clean
// argv: limit
// expect: clean
// argv: range
// native: no
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/xattr.h>

#include "litmus.h"

static int file, source, folder, other, timer, pair[2];
static const char *what;

static int is(const char *name) { return !strcmp(what, name); }

static void *change(void *arg)
{
  struct timeval limit = {3, 0};
  if (is("hole")) ftruncate(file, 4);
  if (is("position")) lseek(file, 4, SEEK_SET);
  if (is("append")) fcntl(file, F_SETFL, O_APPEND);
  if (is("folder")) close(folder);
  if (is("other-folder")) dup2(other, folder);
  if (is("working-folder")) rmdir("queried");
  if (is("timer")) close(timer);
  if (is("attribute")) rmdir("queried");
  if (is("owner")) fcntl(file, F_SETOWN, getpid());
  if (is("socket")) setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return arg;
}

static void limits(void)
{
  struct rlimit r;
  getrlimit(RLIMIT_NOFILE, &r);
  int last = dup(file);
  r.rlim_cur = (rlim_t)last + 1;
  setrlimit(RLIMIT_NOFILE, &r);
  close(folder);
  assert(dup(file) == folder); /* a number below the limit is free */
  assert(dup(file) == -1 && errno == EMFILE);
  assert(open("/dev/null", O_RDONLY) == -1 && errno == EMFILE);
  assert(fcntl(file, F_DUPFD, last + 1) == -1 && errno == EINVAL);
  assert(dup2(file, last + 1) == -1 && errno == EBADF);
}

static void ranges(void)
{
  assert(close_range((unsigned)file, (unsigned)source, CLOSE_RANGE_CLOEXEC) == 0);
  assert(fcntl(file, F_GETFD) == FD_CLOEXEC && fcntl(other, F_GETFD) == 0);
  assert(close_range(5, 4, 0) == -1 && errno == EINVAL);
}

int main(int argc, char **argv)
{
  char c = 0;
  struct iovec v = {&c, 1};
  struct stat st;
  struct itimerspec left;
  struct timeval limit = {0, 0};
  socklen_t n = sizeof limit;
  what = argc > 1 ? argv[1] : "";
  file = memfd_create("file", 0);
  source = open("/etc/passwd", O_RDONLY);
  folder = open("/etc", O_RDONLY | O_DIRECTORY);
  other = open("/proc", O_RDONLY | O_DIRECTORY);
  timer = timerfd_create(CLOCK_MONOTONIC, 0);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  write(file, "0123456789", 10);
  lseek(file, 0, SEEK_SET);
  mkdir("queried", 0700);
  pthread_t t = spawn(change, NULL);
  if (is("hole")) assert(lseek(file, 0, SEEK_HOLE) == 10);
  if (is("position")) assert(preadv2(file, &v, 1, -1, 0) == 1 && c == '0');
  if (is("append")) assert(sendfile(file, source, NULL, 4) == 4);
  if (is("folder")) assert(openat(folder, "passwd", O_RDONLY) >= 0);
  if (is("other-folder")) assert(fstatat(folder, "passwd", &st, 0) == 0);
  if (is("working-folder")) assert(chdir("queried") == 0);
  if (is("timer")) assert(timerfd_gettime(timer, &left) == 0);
  if (is("attribute")) assert(getxattr("queried", "user.x", &c, 1) == -1 && errno != ENOENT);
  if (is("owner")) assert(fcntl(file, F_GETOWN) == 0);
  if (is("socket")) assert(getsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, &n) == 0 && !limit.tv_sec);
  join(t);
  if (is("limit")) limits();
  if (is("range")) ranges();
  rmdir("queried");
  return 0;
}
