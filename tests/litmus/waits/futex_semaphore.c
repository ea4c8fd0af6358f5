// A semaphore made of an atomic counter and a futex. A thread that gets nothing sleeps while the counter is 0. Wrong:
// it sleeps while the counter is what it was before the attempt, which may be more than 0, and then no thread that
// posts sees a reason to wake it.
// expect: exact executions=16
// expect: kind=lost-wakeup
// argv: stale
// where: function=acquire line=@wait
#include "litmus.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

static _Atomic int slots = 1;
static int stale, inside;

static void acquire(void)
{
  for (;;) {
    int before = atomic_load(&slots), n = before;
    if (n > 0 && atomic_compare_exchange_strong(&slots, &n, n - 1)) return;
    syscall(SYS_futex, &slots, FUTEX_WAIT_PRIVATE, stale ? before : 0, NULL, NULL, 0); /* @wait */
  }
}

static void release(void)
{
  if (atomic_fetch_add(&slots, 1) == 0) syscall(SYS_futex, &slots, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void *user(void *arg)
{
  acquire();
  inside++;
  assert(inside == 1);
  inside--;
  release();
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  stale = argc > 1;
  both(user, user);
  return 0;
}
