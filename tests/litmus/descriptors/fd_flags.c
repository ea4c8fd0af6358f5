// The flags of a descriptor or the options of a socket change while another thread uses them: a read may find nothing, a
// flag may be set. Right: that is done before the thread starts.
// expect: kind=assertion
// argv: nonblock
// where: function=main line=@read
// expect: kind=assertion
// argv: cloexec
// where: function=main line=@cloexec
// expect: kind=assertion
// argv: ioctl
// where: function=main line=@cloexec
// expect: kind=assertion
// argv: option
// where: function=main line=@option
// expect: kind=assertion
// argv: times
// where: function=main line=@times
// expect: clean
// argv: early
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "litmus.h"

static int fd[2], pair[2], file;
static const char *what;

static void change(void)
{
  int on = 1;
  struct timespec t[2] = {{5, 0}, {5, 0}};
  if (!strcmp(what, "nonblock")) fcntl(fd[0], F_SETFL, O_NONBLOCK);
  if (!strcmp(what, "cloexec")) fcntl(fd[0], F_SETFD, FD_CLOEXEC);
  if (!strcmp(what, "ioctl")) ioctl(fd[0], FIOCLEX);
  if (!strcmp(what, "option")) setsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  if (!strcmp(what, "times")) futimens(file, t);
}

static void *writer(void *arg)
{
  if (strcmp(what, "early")) change();
  write(fd[1], "x", 1);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  int on = 0;
  socklen_t n = sizeof on;
  struct stat st;
  what = argc > 1 ? argv[1] : "";
  pipe(fd);
  socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
  file = fileno(tmpfile());
  if (!strcmp(what, "early")) change();
  pthread_t t = spawn(writer, NULL);
  assert(!(fcntl(fd[0], F_GETFD) & FD_CLOEXEC)); /* @cloexec */
  assert(getsockopt(pair[0], SOL_SOCKET, SO_KEEPALIVE, &on, &n) == 0 && !on); /* @option */
  assert(fstat(file, &st) == 0 && st.st_mtime != 5); /* @times */
  assert(read(fd[0], &c, 1) == 1); /* @read */
  join(t);
  return 0;
}
