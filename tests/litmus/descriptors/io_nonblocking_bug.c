// expect: kind=assertion
// where: function=main line=@x
/* A non-blocking read where a blocking one is needed. */
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
  pthread_t t = spawn(writer, NULL);
  assert(read(p[0], &c, 1) == 1); /* @x */
  join(t);
  return 0;
}
