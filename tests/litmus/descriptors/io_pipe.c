// expect: exact executions=2
/* A pipe: the reader waits without stopping the writer, and sees everything before the write. */
#include "litmus.h"

static int p[2], data;

static void *producer(void *arg)
{
  data = 5;
  for (int i = 0; i < 2; i++) assert(write(p[1], &i, sizeof i) == sizeof i);
  return arg;
}

static void *consumer(void *arg)
{
  for (int i = 0, got; i < 2; i++) {
    assert(read(p[0], &got, sizeof got) == sizeof got);
    assert(got == i && data == 5);
  }
  return arg;
}

int main(void)
{
  assert(pipe(p) == 0);
  both(producer, consumer);
  return 0;
}
