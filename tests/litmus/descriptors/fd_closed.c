// Operations on a number that another thread closes: the second close fails, and so does a write that comes later. That is
// an error, not a wait. Right: both are told apart, or only one of them closes.
// expect: kind=assertion
// where: function=main line=@close
// expect: exact executions=2
// argv: write
// expect: exact executions=1
// argv: other
#include <errno.h>

#include "litmus.h"

static int fd[2], which;

static void *closer(void *arg)
{
  close(fd[which == 2]);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  which = argc > 1 ? argv[1][0] == 'w' ? 1 : 2 : 0;
  pipe(fd);
  write(fd[1], "x", 1);
  pthread_t t = spawn(closer, NULL);
  if (which == 0) assert(close(fd[0]) == 0); /* @close */
  if (which == 1) assert(read(fd[0], &c, 1) == 1 || errno == EBADF);
  join(t);
  if (which == 2) assert(read(fd[0], &c, 1) == 1 && read(fd[0], &c, 1) == 0);
  return 0;
}
