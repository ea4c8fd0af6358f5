// Which thread gets the serial value is explored only where somebody uses it.
// opt: -O0 -O1 -O2
// expect: exact executions=1 dfs=no
// argv: nobody 3
// expect: exact executions=1
// argv: nobody 2
// expect: exact executions=2
// argv: one 2
// expect: exact executions=4
// argv: all 2
#include "litmus.h"

static pthread_barrier_t barrier;
static char who;
static volatile int serial[3];

static void *worker(void *arg)
{
  int i = (int)(intptr_t)arg, looks = who == 'a' || (who == 'o' && !i);
  for (int round = 0; round < 2; round++)
    if (looks && (who == 'a' || !round))
      serial[i] += pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
    else
      pthread_barrier_wait(&barrier);
  return arg;
}

int main(int argc, char **argv)
{
  int n = argc > 2 ? atoi(argv[2]) : 2;
  pthread_t t[3];
  who = argc > 1 ? argv[1][0] : 'n';
  pthread_barrier_init(&barrier, NULL, n);
  for (int i = 0; i < n; i++) t[i] = spawn(worker, (void *)(intptr_t)i);
  for (int i = 0; i < n; i++) join(t[i]);
  pthread_barrier_destroy(&barrier);
  return 0;
}
