// A lock made from a futex: correct; one that wakes no thread; one that checks and sleeps in two steps.
// expect: clean executions=300
// args: --strategy random
// restart: memory fork
// expect: clean executions=200
// args: --strategy random
// argv: once
// expect: kind=lost-wakeup
// argv: forget
// where: function=futex role=waits
// says: waits on the futex
// expect: kind=data-race|assertion
// argv: plain
#include "litmus.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t word; /* 0 free, 1 taken, 2 taken and somebody waits */
static int n;
static const char *what = "";

static long futex(uint32_t *at, int op, uint32_t v) { return syscall(SYS_futex, at, op, v, NULL, NULL, 0); }

static void lock(void)
{
  uint32_t free = 0;
  if (__atomic_compare_exchange_n(&word, &free, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
  while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE)) futex(&word, FUTEX_WAIT_PRIVATE, 2);
}

static void unlock(void)
{
  if (__atomic_exchange_n(&word, 0, __ATOMIC_RELEASE) == 2 && strcmp(what, "forget"))
    futex(&word, FUTEX_WAKE_PRIVATE, 1);
}

static void *worker(void *arg)
{
  if (strcmp(what, "plain")) lock();
  n++;
  if (strcmp(what, "plain")) unlock();
  return arg;
}

static uint32_t ready;

static void *waits(void *arg)
{
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) futex(&ready, FUTEX_WAIT, 0);
  n++;
  return arg;
}

static void *wakes(void *arg)
{
  n++;
  __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  futex(&ready, FUTEX_WAKE, 1);
  return arg;
}

int main(int argc, char **argv)
{
  if (argc > 1) what = argv[1];
  if (!strcmp(what, "once"))
    both(waits, wakes);
  else
    both(worker, worker);
  assert(n == 2);
  return 0;
}
