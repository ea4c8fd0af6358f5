// A bounded queue between a producer and a consumer, both in atomic sections that assume that there is room, or an
// element. Elements come out in order.
// restart: memory fork
// expect: exact executions=4 infeasible=5 dfs=no
#include "litmus.h"

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);
extern void reach_error(void);

#define SIZE 2
static int slot[SIZE], head, count;

static void put(int v)
{
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(count < SIZE);
  slot[(head + count++) % SIZE] = v;
  __VERIFIER_atomic_end();
}

static int get(void)
{
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(count > 0);
  int v = slot[head];
  head = (head + 1) % SIZE;
  count--;
  __VERIFIER_atomic_end();
  return v;
}

static void *producer(void *arg)
{
  for (int i = 1; i <= 3; i++) put(i);
  return arg;
}

static void *consumer(void *arg)
{
  for (int i = 1; i <= 3; i++)
    if (get() != i) reach_error();
  return arg;
}

int main(void)
{
  both(producer, consumer);
  return 0;
}
