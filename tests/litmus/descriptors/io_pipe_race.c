// expect: kind=data-race
// where: function=producer line=@write
// where: function=consumer line=@read
/* Writes after the message are not ordered before its reader. */
#include "litmus.h"

static int p[2], data;

static void *producer(void *arg)
{
  assert(write(p[1], "x", 1) == 1);
  data = 5; /* @write */
  return arg;
}

static void *consumer(void *arg)
{
  char c;
  assert(read(p[0], &c, 1) == 1);
  return (char *)arg + data; /* @read */
}

int main(void)
{
  assert(pipe(p) == 0);
  both(producer, consumer);
  return 0;
}
