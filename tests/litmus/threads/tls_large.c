// Large and over-aligned thread-local storage, fresh in every thread; a stack supplied by the program.
// restart: memory fork
// expect: clean executions=100
#include "litmus.h"
#include <sys/mman.h>

static _Thread_local char large[100000];
static _Thread_local int aligned __attribute__((aligned(64))) = 5;

static void *worker(void *arg)
{
  for (int i = 0; i < 100000; i += 100) assert(large[i] == 0);
  memset(large, 1, sizeof large);
  assert(aligned == 5 && ((uintptr_t)&aligned & 63) == 0);
  aligned = 6;
  return arg;
}

int main(void)
{
  pthread_t t;
  for (int i = 0; i < 2; i++) both(worker, worker);
  worker(NULL);
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  void *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  assert(pthread_attr_setstack(&attr, stack, 1 << 20) == 0);
  assert(pthread_create(&t, &attr, worker, NULL) == 0);
  join(t);
  return 0;
}
