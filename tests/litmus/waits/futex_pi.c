// A lock whose word names its owner, made with the futex operations for priority inheritance. Wrong: a thread that
// finds the lock taken does not wait for it; a thread ends without releasing it.
// native: no
// expect: clean executions=300
// expect: kind=data-race
// argv: try
// where: function=count line=@count
// expect: kind=lost-wakeup|deadlock
// argv: keep
#include <linux/futex.h>
#include <sys/syscall.h>

#include "litmus.h"

static uint32_t lock;
static int counted, careless, keep;

static long futex(int op) { return syscall(SYS_futex, &lock, op | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0); }

static uint32_t me(void) { return (uint32_t)syscall(SYS_gettid); }

static int take(void)
{
  uint32_t free = 0;
  if (__atomic_compare_exchange_n(&lock, &free, me(), 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 1;
  if (careless) return futex(FUTEX_TRYLOCK_PI) == 0;
  assert(futex(FUTEX_LOCK_PI) == 0);
  assert((__atomic_load_n(&lock, __ATOMIC_RELAXED) & FUTEX_TID_MASK) == me());
  return 1;
}

static void give(void)
{
  uint32_t mine = me();
  if (__atomic_compare_exchange_n(&lock, &mine, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) return;
  assert(futex(FUTEX_UNLOCK_PI) == 0);
}

static void count(void)
{
  counted++; /* @count */
}

static void *worker(void *arg)
{
  int got = take();
  count();
  if (got && !(keep && arg)) give();
  return NULL;
}

int main(int argc, char **argv)
{
  careless = argc > 1 && argv[1][0] == 't';
  keep = argc > 1 && argv[1][0] == 'k';
  pthread_t a = spawn(worker, &lock), b = spawn(worker, NULL), c = spawn(worker, NULL);
  join(a);
  join(b);
  join(c);
  assert(counted == 3 && lock == 0);
  assert(futex(FUTEX_UNLOCK_PI) == -1 && errno == EPERM);
  return 0;
}
