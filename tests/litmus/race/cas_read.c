// A failed compare-and-swap only reads: two of them commute. A successful one is a write, and every order determines
// again which one succeeds.
// restart: memory fork
// expect: exact executions=1 states=1
// argv: 5 6
// expect: exact executions=2 states=2
// argv: 0 5
// expect: exact executions=2 states=2
// argv: 0 0
// expect: exact executions=2 states=2
// argv: 0 1
#include "litmus.h"

void hd_rt_observe(uint64_t value);
static int x, first, second;

static void swap(int expected, int to, uint64_t name)
{
  int seen = expected;
  int won = __atomic_compare_exchange_n(&x, &seen, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  hd_rt_observe(name * 100 + (uint64_t)won * 10 + (uint64_t)seen);
}

static void *one(void *arg)
{
  swap(first, 1, 1);
  return arg;
}

static void *two(void *arg)
{
  swap(second, 2, 2);
  return arg;
}

int main(int argc, char **argv)
{
  first = atoi(argv[1]);
  second = atoi(argv[2]);
  both(one, two);
  return 0;
}
