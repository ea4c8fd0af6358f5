// The kernel moves data from one descriptor to another: who waits for it is woken. Wrong: nobody sends.
// expect: clean
// argv: splice
// expect: clean
// argv: tee
// expect: clean
// argv: vmsplice
// expect: clean
// argv: file
// expect: kind=deadlock
// argv: nothing
#include "litmus.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

static int from[2], to[2];
static char how;

static void *mover(void *arg)
{
  struct iovec v = {"x", 1};
  int fd;
  switch (how) {
    case 'f':
      fd = open("data", O_CREAT | O_RDWR, 0600);
      assert(write(fd, "x", 1) == 1 && lseek(fd, 0, SEEK_SET) == 0);
      assert(sendfile(to[1], fd, NULL, 1) == 1 && close(fd) == 0);
      break;
    case 't': assert(tee(from[0], to[1], 1, 0) == 1); break;
    case 'v': assert(vmsplice(to[1], &v, 1, 0) == 1); break;
    default: assert(splice(from[0], NULL, to[1], NULL, 1, 0) == 1);
  }
  return arg;
}

static void *writer(void *arg)
{
  if (how != 'n') assert(write(from[1], "x", 1) == 1);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  how = argc > 1 ? argv[1][0] : 0;
  pipe(from);
  pipe(to);
  pthread_t a = spawn(mover, NULL), b = spawn(writer, NULL);
  assert(read(to[0], &c, 1) == 1);
  join(a);
  join(b);
  return 0;
}
