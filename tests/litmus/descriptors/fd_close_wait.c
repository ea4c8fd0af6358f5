// Closing a descriptor does not wake a thread that waits for it, but one that comes later gets an error. Right: the other
// end is closed.
// expect: kind=deadlock
// where: function=reader line=@read
// expect: clean
// argv: other
#include "litmus.h"

static int fd[2];

static void *reader(void *arg)
{
  char c;
  if (read(fd[0], &c, 1) > 0) return NULL; /* @read */
  return arg;
}

int main(int argc, char **argv)
{
  pipe(fd);
  pthread_t t = spawn(reader, NULL);
  close(fd[argc > 1]);
  join(t);
  return argv[0] == NULL;
}
