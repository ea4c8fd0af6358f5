// The same lock with a relaxed release.
// expect: kind=data-race
#include "litmus.h"

static int lock, counter;

static void *worker(void *arg)
{
  while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) sched_yield();
  counter++;
  poke(&lock, 0);
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
