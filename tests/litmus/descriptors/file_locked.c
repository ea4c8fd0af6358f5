// expect: exact executions=2
// native: no
/* The same under a mutex. */
#include <fcntl.h>

#include "litmus.h"

MUTEX(m);

static void *adder(void *arg)
{
  int n = 0;
  pthread_mutex_lock(&m);
  int fd = open("count", O_RDWR);
  assert(fd >= 0 && pread(fd, &n, sizeof n, 0) == sizeof n);
  n++;
  assert(pwrite(fd, &n, sizeof n, 0) == sizeof n && close(fd) == 0);
  pthread_mutex_unlock(&m);
  return arg;
}

int main(void)
{
  int n = 0, fd = open("count", O_RDWR | O_CREAT | O_EXCL, 0600);
  assert(fd >= 0 && write(fd, &n, sizeof n) == sizeof n);
  both(adder, adder);
  assert(pread(fd, &n, sizeof n, 0) == sizeof n && n == 2);
  return 0;
}
