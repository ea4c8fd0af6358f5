// The limit of the size of files, which another thread lowers.
// native: no
// expect: kind=assertion
// argv: write
// expect: kind=assertion
// argv: truncate
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "litmus.h"

static void *lower(void *arg)
{
  struct rlimit l;
  getrlimit(RLIMIT_FSIZE, &l);
  l.rlim_cur = 4;
  setrlimit(RLIMIT_FSIZE, &l);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  signal(SIGXFSZ, SIG_IGN);
  int fd = open("limited", O_CREAT | O_RDWR | O_TRUNC, 0600);
  pthread_t t = spawn(lower, NULL);
  if (!strcmp(argv[1], "write"))
    assert(write(fd, "12345678", 8) == 8);
  else
    assert(ftruncate(fd, 8) == 0);
  join(t);
  return 0;
}
