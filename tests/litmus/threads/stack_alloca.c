// expect: clean executions=50
// opt: -O0 -O2
/* alloca and variable-length arrays, a large stack of the thread's own, deep recursion with locks. */
#include <alloca.h>

#include "litmus.h"

MUTEX(m);
static long sum;

__attribute__((noinline)) static long use(size_t n)
{
  char *p = alloca(n), q[n];
  memset(p, 1, n);
  memset(q, 2, n);
  pthread_mutex_lock(&m);
  long r = p[n - 1] + q[0];
  sum += r;
  pthread_mutex_unlock(&m);
  return r;
}

__attribute__((noinline)) static long deep(int n)
{
  volatile char room[500];
  room[n % 500] = 1;
  return n ? deep(n - 1) + room[n % 500] : use(1000);
}

static void *worker(void *arg)
{
  assert(use(3000000) == 3 && deep(10000) == 10003);
  return arg;
}

int main(void)
{
  pthread_attr_t a;
  pthread_t t[2];
  pthread_attr_init(&a);
  pthread_attr_setstacksize(&a, 64 << 20);
  for (int i = 0; i < 2; i++) assert(pthread_create(&t[i], &a, worker, NULL) == 0);
  assert(use(1000000) == 3);
  for (int i = 0; i < 2; i++) join(t[i]);
  assert(sum == 15);
  return 0;
}
