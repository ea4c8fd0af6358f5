// expect: kind=assertion
// where: function=main line=@x
// native: no
/* Two threads read a number from a file, add one, and write it back. */
#include <fcntl.h>

#include "litmus.h"

static void *adder(void *arg)
{
  int n = 0, fd = open("count", O_RDWR);
  assert(fd >= 0 && pread(fd, &n, sizeof n, 0) == sizeof n);
  n++;
  assert(pwrite(fd, &n, sizeof n, 0) == sizeof n && close(fd) == 0);
  return arg;
}

int main(void)
{
  int n = 0, fd = open("count", O_RDWR | O_CREAT | O_EXCL, 0600);
  assert(fd >= 0 && write(fd, &n, sizeof n) == sizeof n);
  both(adder, adder);
  assert(pread(fd, &n, sizeof n, 0) == sizeof n);
  assert(n == 2); /* @x */
  return 0;
}
