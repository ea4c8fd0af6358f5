// Two hundred threads at once, then two hundred more; and threads that create threads.
// restart: memory fork
// expect: clean executions=10
#include "litmus.h"

static int counter;

static void *leaf(void *arg)
{
  __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
  return arg;
}

static void *tree(void *arg)
{
  long depth = (long)arg;
  if (depth == 0) return leaf(NULL);
  pthread_t a = spawn(tree, (void *)(depth - 1)), b = spawn(tree, (void *)(depth - 1));
  join(a);
  join(b);
  return NULL;
}

int main(void)
{
  pthread_t t[200];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 200; i++) t[i] = spawn(leaf, NULL);
    for (int i = 0; i < 200; i++) join(t[i]);
  }
  join(spawn(tree, (void *)5L));
  assert(counter == 432);
  return 0;
}
