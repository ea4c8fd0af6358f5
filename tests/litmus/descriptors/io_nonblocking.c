// expect: exact executions=2
/* Non-blocking calls return EAGAIN. */
#include <fcntl.h>

#include "litmus.h"

static int p[2];

static void *writer(void *arg)
{
  assert(write(p[1], "x", 1) == 1);
  return arg;
}

int main(void)
{
  char c;
  assert(pipe2(p, O_NONBLOCK) == 0);
  assert(read(p[0], &c, 1) == -1 && errno == EAGAIN);
  pthread_t t = spawn(writer, NULL);
  ssize_t n = read(p[0], &c, 1);
  assert(n == 1 || (n == -1 && errno == EAGAIN));
  join(t);
  if (n < 0) assert(read(p[0], &c, 1) == 1);
  return 0;
}
