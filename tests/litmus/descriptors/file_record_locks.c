// Record locks of descriptions exclude each other, those of the process do not. Wrong: a lock that is not waited for; two
// files in two orders.
// expect: clean
// expect: kind=assertion
// argv: try
// where: function=section line=@try
// expect: kind=deadlock
// argv: order
// expect: clean
// argv: process
#include "litmus.h"

#include <fcntl.h>

static int fd[2][2], inside;
static char how;

static int lock(int at, int command, short type)
{
  struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = 8, .l_len = 4};
  return fcntl(at, command, &l);
}

static void section(int i)
{
  if (how == 't') {
    assert(lock(fd[i][0], F_OFD_SETLK, F_WRLCK) == 0); /* @try */
  } else if (how == 'p') {
    assert(lock(fd[i][0], F_SETLKW, F_WRLCK) == 0);
    return;
  } else {
    assert(lock(fd[i][how == 'o' && i], F_OFD_SETLKW, F_WRLCK) == 0);
    if (how == 'o') assert(lock(fd[i][!i], F_OFD_SETLKW, F_WRLCK) == 0);
  }
  assert(++inside == 1);
  sched_yield();
  inside--;
  for (int k = 0; k < 2; k++) assert(lock(fd[i][k], F_OFD_SETLK, F_UNLCK) == 0);
}

static void *one(void *arg) { return section(0), arg; }
static void *two(void *arg) { return section(1), arg; }

int main(int argc, char **argv)
{
  how = argc > 1 ? argv[1][0] : 0;
  for (int i = 0; i < 2; i++) {
    fd[i][0] = open("first", O_CREAT | O_RDWR, 0600);
    fd[i][1] = open("second", O_CREAT | O_RDWR, 0600);
  }
  both(one, two);
  return 0;
}
