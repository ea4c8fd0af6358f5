// expect: kind=deadlock
// says: waits to read from descriptor 3 (pipe)
/* One message for two readers; no other process has the other end. */
#include "litmus.h"

static int p[2];

static void *consumer(void *arg)
{
  char c;
  assert(read(p[0], &c, 1) == 1);
  return arg;
}

int main(void)
{
  assert(pipe(p) == 0);
  assert(write(p[1], "x", 1) == 1);
  pthread_t a = spawn(consumer, NULL);
  join(a);
  pthread_t b = spawn(consumer, NULL);
  join(b);
  return 0;
}
