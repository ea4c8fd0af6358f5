// A descriptor is made non-blocking while another thread reads from it: the read may find nothing. Right: that is done
// before the thread starts.
// expect: kind=assertion
// where: function=main line=@read
// expect: clean
// argv: early
#include <fcntl.h>

#include "litmus.h"

static int fd[2], early;

static void *writer(void *arg)
{
  if (!early) fcntl(fd[0], F_SETFL, O_NONBLOCK);
  write(fd[1], "x", 1);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  early = argc > 1;
  pipe(fd);
  pthread_t t = spawn(writer, NULL);
  assert(read(fd[0], &c, 1) == 1); /* @read */
  join(t);
  return argv[0] == NULL;
}
