// expect: kind=deadlock
// says: waits to poll descriptor
/* It polls the wrong end. */
#include <poll.h>

#include "litmus.h"

static int p[2];

static void *writer(void *arg)
{
  assert(write(p[1], "x", 1) == 1);
  return arg;
}

int main(void)
{
  int q[2];
  assert(pipe(p) == 0 && pipe(q) == 0);
  pthread_t t = spawn(writer, NULL);
  struct pollfd f = {q[0], POLLIN, 0};
  poll(&f, 1, -1);
  join(t);
  return 0;
}
