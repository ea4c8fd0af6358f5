// expect: kind=crash
// native: no
/* A process that dies leaves nothing behind either: the replays find the same. */
#include <fcntl.h>
#include <signal.h>

#include "litmus.h"

int main(void)
{
  int fd = open("left", O_CREAT | O_EXCL | O_RDWR, 0600);
  assert(fd >= 0 && write(fd, "x", 1) == 1);
  assert(truncate("prog.c", 0) == -1 || 1);
  kill(getpid(), SIGKILL);
  return 0;
}
