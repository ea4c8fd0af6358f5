// Three threads that wait for each other to end.
// expect: kind=deadlock
// where: function=worker role=waits thread=T1
// where: function=worker role=waits thread=T3
#include "litmus.h"

static pthread_t t[3];
static int ready;

static void *worker(void *arg)
{
  long i = (long)arg;
  while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE)) sched_yield();
  pthread_join(t[(i + 1) % 3], NULL);
  return NULL;
}

int main(void)
{
  for (long i = 0; i < 3; i++) t[i] = spawn(worker, (void *)i);
  __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
  pthread_exit(NULL);
}
