// A barrier for three with two threads; and a barrier for two with three threads: one is left over, and it can be any
// of the three.
// expect: kind=deadlock
// where: function=worker role=waits
// says: (2 of 3 have arrived)
// expect: kind=assertion
// argv: 0
// args: --ignore deadlock --strategy optimal
// expect: kind=assertion
// argv: 1
// args: --ignore deadlock --strategy optimal
// expect: kind=assertion
// argv: 2
// args: --ignore deadlock --strategy optimal
#include "litmus.h"

static pthread_barrier_t barrier;
static int left = -1, passed;

static void *worker(void *arg)
{
  int me = 1 << (intptr_t)arg;
  pthread_barrier_wait(&barrier);
  int all = __atomic_fetch_or(&passed, me, __ATOMIC_SEQ_CST) | me;
  assert(left < 0 || all != (7 & ~(1 << left)));
  return NULL;
}

int main(int argc, char **argv)
{
  pthread_t t[3];
  int n = argc > 1 ? 3 : 2;
  if (argc > 1) left = atoi(argv[1]);
  pthread_barrier_init(&barrier, NULL, argc > 1 ? 2 : 3);
  for (long i = 0; i < n; i++) t[i] = spawn(worker, (void *)i);
  for (int i = 0; i < n; i++) join(t[i]);
  return 0;
}
