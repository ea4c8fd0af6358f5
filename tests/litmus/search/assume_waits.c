// A mutex made of a compare-and-swap and an assumption, as in programs for verifiers: a thread that does not get it
// stops. It leaves no deadlock, leak or status behind, and the other threads are still checked.
// restart: memory fork
// args: --leaks
// expect: exact executions=2 infeasible=2
// argv: right
// expect: exact executions=2 infeasible=2 kinds=assertion
// argv: wrong
#include "heddle.h"
#include "litmus.h"

static int taken, count, wrong;

static void *worker(void *arg)
{
  int none = 0;
  hd_assume(__atomic_compare_exchange_n(&taken, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
  count++;
  assert(count == 1 || !wrong);
  __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
  return arg;
}

int main(int argc, char **argv)
{
  wrong = argv[1][0] == 'w';
  both(worker, worker);
  return count - 2;
}
