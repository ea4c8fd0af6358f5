// A lock made of compare-and-swap with acquire and release.
// opt: -O0 -O2
// expect: clean executions=300
#include "litmus.h"

static int lock, counter;

static void *worker(void *arg)
{
  for (int i = 0; i < 2; i++) {
    int free = 0;
    while (!__atomic_compare_exchange_n(&lock, &free, 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      free = 0;
      sched_yield();
    }
    counter++;
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
  }
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(counter == 4);
  return 0;
}
