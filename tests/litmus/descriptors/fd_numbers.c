// expect: exact executions=1
/* Threads open and close files of their own, as servers do: the order in which they do has no effect. */
#include <fcntl.h>

#include "litmus.h"

static void *user(void *arg)
{
  for (int i = 0; i < 3; i++) {
    int fd = open("/dev/null", O_WRONLY), copy = dup(fd);
    assert(write(fd, "x", 1) == 1 && write(copy, "x", 1) == 1);
    assert(close(fd) == 0 && close(copy) == 0);
  }
  return arg;
}

int main(void)
{
  pthread_t a = spawn(user, NULL), b = spawn(user, NULL), c = spawn(user, NULL);
  join(a);
  join(b);
  join(c);
  return 0;
}
