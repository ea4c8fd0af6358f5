// Variables in given registers have their values when the assembly is executed: hooks are called before it.
// opt: -O0 -O1 -O2
// expect: clean executions=200
#include "litmus.h"

static int word;

static long sum(long a, long b, long c, int *p)
{
  long r;
  register long x __asm__("r10") = a;
  register long y __asm__("r8") = b;
  register long z __asm__("r9") = c;
  __asm__ volatile("mov %%r10, %0; add %%r8, %0; add %%r9, %0"
                   : "=&a"(r)
                   : "r"(x), "r"(y), "r"(z), "r"(p), "m"(word)
                   : "memory");
  return r;
}

static void *run(void *arg)
{
  assert(sum(4, 5, 6, &word) == 15);
  return arg;
}

int main(void)
{
  pthread_t t;
  pthread_create(&t, 0, run, 0);
  run(0);
  pthread_join(t, 0);
}
