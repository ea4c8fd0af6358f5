// A computation in phases: three threads compute their cells from those of the previous phase. The serial thread of
// the barrier swaps the two arrays while the others wait at the second barrier. Wrong: no second barrier.
// expect: exact executions=9 dfs=no
// expect: kind=data-race
// argv: one
// where: function=compute line=@swap
#include "litmus.h"

enum { THREADS = 3, PHASES = 2 };

static pthread_barrier_t barrier;
static int cells[2][THREADS] = {{1, 2, 4}}, now, both_barriers = 1;

static void *compute(void *arg)
{
  long me = (long)arg;
  for (int i = 0; i < PHASES; i++) {
    int *from = cells[now], *to = cells[!now];
    to[me] = from[me] + from[(me + 1) % THREADS];
    if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) now = !now; /* @swap */
    if (both_barriers) pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argv;
  both_barriers = argc == 1;
  pthread_barrier_init(&barrier, NULL, THREADS);
  pthread_t a = spawn(compute, (void *)1), b = spawn(compute, (void *)2);
  compute(0);
  join(a);
  join(b);
  assert(cells[now][0] == 9 && cells[now][1] == 11 && cells[now][2] == 8);
  pthread_barrier_destroy(&barrier);
  return 0;
}
