// expect: exact executions=2
/* A write that does not fit waits for the reader, and is split. */
#include "litmus.h"

static int p[2];
static char big[200000], got[65536];

static void *producer(void *arg)
{
  assert(write(p[1], big, sizeof big) == (ssize_t)sizeof big);
  close(p[1]);
  return arg;
}

static void *consumer(void *arg)
{
  ssize_t n, all = 0;
  while ((n = read(p[0], got, sizeof got)) > 0) all += n;
  assert(n == 0 && all == (ssize_t)sizeof big);
  return arg;
}

int main(void)
{
  assert(pipe(p) == 0);
  both(producer, consumer);
  return 0;
}
