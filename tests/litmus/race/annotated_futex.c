// A lock made of a futex, declared to ThreadSanitizer at the address of its word: who waits for the word stays in its queue.
// native: no
// expect: exact executions=50
#include "litmus.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>

void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);

static atomic_int word; /* 0: free, 1: held, 2: somebody may wait */
static atomic_int others; /* a lock is taken and released between operations of others */
static int n;

static void lock(void)
{
  int is = 0;
  __tsan_mutex_pre_lock(&word, 0);
  if (!atomic_compare_exchange_strong(&word, &is, 1))
    while (atomic_exchange(&word, 2) != 0) syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, NULL);
  __tsan_mutex_post_lock(&word, 0, 1);
}

static void unlock(void)
{
  __tsan_mutex_pre_unlock(&word, 0);
  if (atomic_exchange(&word, 0) == 2) syscall(SYS_futex, &word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
  __tsan_mutex_post_unlock(&word, 0);
}

static void *worker(void *arg)
{
  atomic_fetch_add(&others, 1);
  lock();
  n++;
  atomic_fetch_add(&others, 1);
  unlock();
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(n == 2);
  return 0;
}
