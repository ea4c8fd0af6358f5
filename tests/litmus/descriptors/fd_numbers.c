// expect: exact executions=24
/* Threads open and close files of their own, as servers do: the order in which they do decides who gets which number. */
#include <fcntl.h>

#include "litmus.h"

static void *user(void *arg)
{
  int fd = open("/dev/null", O_WRONLY), copy = dup(fd);
  assert(write(fd, "x", 1) == 1 && write(copy, "x", 1) == 1);
  assert(close(fd) == 0 && close(copy) == 0);
  return arg;
}

int main(void)
{
  pthread_t a = spawn(user, NULL), b = spawn(user, NULL);
  join(a);
  join(b);
  return 0;
}
