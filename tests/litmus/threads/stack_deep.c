// Deep recursion that fits: 6 MiB of the default 8 MiB of a thread, and 20 MiB where requested.
// restart: memory fork
// expect: clean executions=20
#include "litmus.h"

__attribute__((noinline)) static int deeper(int n)
{
  volatile char pad[1000];
  pad[0] = 1;
  return n ? deeper(n - 1) + pad[0] : 0;
}

static void *worker(void *arg)
{
  long n = (long)arg;
  assert(deeper((int)n) == n);
  return NULL;
}

int main(void)
{
  pthread_attr_t attr;
  pthread_t a = spawn(worker, (void *)5000L), b;
  pthread_attr_init(&attr);
  assert(pthread_attr_setstacksize(&attr, 24 << 20) == 0);
  assert(pthread_create(&b, &attr, worker, (void *)18000L) == 0);
  join(a);
  join(b);
  worker((void *)5000L);
  return 0;
}
