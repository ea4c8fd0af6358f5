// expect: exact executions=8 dfs=no
/* Two writers and two readers of one byte each. */
#include "litmus.h"

static int p[2];

static void *producer(void *arg)
{
  assert(write(p[1], "x", 1) == 1);
  return arg;
}

static void *consumer(void *arg)
{
  char c;
  assert(read(p[0], &c, 1) == 1);
  return arg;
}

int main(void)
{
  assert(pipe(p) == 0);
  pthread_t t[4] = {spawn(producer, NULL), spawn(producer, NULL), spawn(consumer, NULL), spawn(consumer, NULL)};
  for (int i = 0; i < 4; i++) join(t[i]);
  return 0;
}
