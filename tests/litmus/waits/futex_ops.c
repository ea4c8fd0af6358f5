// Every futex operation, and its return value.
// restart: memory fork
// expect: clean executions=60
// args: --strategy random
// expect: clean executions=60
// args: --strategy random --timeouts=any
// argv: any
#include "litmus.h"
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t a, b, seen, asleep;
MUTEX(lock);
COND(ready);

static long futex(uint32_t *at, int op, uint32_t v, void *time, uint32_t *at2, uint32_t v3)
{
  return syscall(SYS_futex, at, op, v, time, at2, v3);
}

static void count(uint32_t *n)
{
  pthread_mutex_lock(&lock);
  ++*n;
  pthread_cond_broadcast(&ready);
  pthread_mutex_unlock(&lock);
}

static void until(uint32_t *n, uint32_t v)
{
  pthread_mutex_lock(&lock);
  while (*n < v) pthread_cond_wait(&ready, &lock);
  pthread_mutex_unlock(&lock);
}

/* Waits at a word until woken; the count of those asleep comes before it sleeps. */
static void *sleeper(void *arg)
{
  count(&asleep);
  while (__atomic_load_n((uint32_t *)arg, __ATOMIC_ACQUIRE) == 0) futex(arg, FUTEX_WAIT, 0, NULL, NULL, 0);
  count(&seen);
  return NULL;
}

static void *bits(void *arg)
{
  count(&asleep);
  while (__atomic_load_n(&b, __ATOMIC_ACQUIRE) == 0)
    futex(&b, FUTEX_WAIT_BITSET, 0, NULL, NULL, (uint32_t)(uintptr_t)arg);
  count(&seen);
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argv;
  struct timespec soon = {0, 1000000}, at, bad = {0, -1};
  pthread_t t[3];
  assert(futex(&a, FUTEX_WAIT, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
  assert(futex(&a, FUTEX_WAIT, 0, &soon, NULL, 0) == -1 && errno == ETIMEDOUT);
  assert(futex(&a, FUTEX_WAIT, 0, &bad, NULL, 0) == -1 && errno == EINVAL);
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec++;
  int op = FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME;
  if (argc > 1) assert(futex(&a, op, 0, &at, NULL, FUTEX_BITSET_MATCH_ANY) == -1 && errno == ETIMEDOUT);
  assert(futex(&a, FUTEX_WAIT_BITSET, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
  assert(futex(&a, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
  for (int i = 0; i < 3; i++) t[i] = spawn(sleeper, &a);
  until(&asleep, 3);
  __atomic_store_n(&a, 1, __ATOMIC_RELEASE);
  long n = futex(&a, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
  assert(n >= 0 && n <= 3);
  for (int i = 0; i < 3; i++) join(t[i]);
  assert(seen == 3);
  /* Bits: whoever listens to the other bit is not woken by this one, but by the end. */
  asleep = 0;
  t[0] = spawn(bits, (void *)1L);
  t[1] = spawn(bits, (void *)2L);
  until(&asleep, 2);
  assert(futex(&b, FUTEX_WAKE_BITSET, 1, NULL, NULL, 4) == 0);
  __atomic_store_n(&b, 1, __ATOMIC_RELEASE);
  futex(&b, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 1);
  futex(&b, FUTEX_WAKE_BITSET, INT_MAX, NULL, NULL, 2);
  join(t[0]);
  join(t[1]);
  assert(seen == 5);
  /* From one word to another. */
  a = b = asleep = 0;
  t[0] = spawn(sleeper, &a);
  until(&asleep, 1);
  assert(futex(&a, FUTEX_CMP_REQUEUE, 0, (void *)(long)INT_MAX, &b, 7) == -1 && errno == EAGAIN);
  n = futex(&a, FUTEX_CMP_REQUEUE, 0, (void *)(long)INT_MAX, &b, 0);
  assert(n == 0 || n == 1);
  __atomic_store_n(&a, 1, __ATOMIC_RELEASE);
  long m = futex(&b, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
  assert(m == n);
  futex(&a, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
  join(t[0]);
  /* Changes b by 5 and wakes at a; at b if it was 0. */
  a = b = asleep = 0;
  t[0] = spawn(sleeper, &a);
  until(&asleep, 1);
  __atomic_store_n(&a, 1, __ATOMIC_RELEASE);
  n = futex(&a, FUTEX_WAKE_OP, 1, (void *)1L, &b, FUTEX_OP(FUTEX_OP_ADD, 5, FUTEX_OP_CMP_EQ, 0));
  assert(b == 5 && n >= 0 && n <= 1);
  join(t[0]);
  assert(seen == 7);
  return 0;
}
