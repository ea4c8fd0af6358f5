// expect: clean executions=200
// args: --strategy random
// native: no
/* flock between two open file descriptions: the second waits for the first. */
#include <fcntl.h>
#include <sys/file.h>

#include "litmus.h"

static int shared;

static void *taker(void *arg)
{
  int fd = open("lock", O_CREAT | O_RDWR, 0600);
  assert(fd >= 0 && flock(fd, LOCK_EX) == 0);
  shared++;
  sched_yield();
  shared++;
  assert(shared % 2 == 0 && flock(fd, LOCK_UN) == 0 && close(fd) == 0);
  return arg;
}

int main(void)
{
  both(taker, taker);
  return 0;
}
