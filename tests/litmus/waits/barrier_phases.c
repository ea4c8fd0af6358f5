// Every thread writes its own cell, and reads its neighbour's in the next phase: correct, and without the second
// barrier. The order of arrival does not matter; which thread becomes the serial thread does.
// expect: clean executions=2
// args: --strategy optimal
// expect: clean executions=200
// args: --strategy random
// restart: memory fork
// expect: kind=data-race
// argv: 1
#include "litmus.h"

#define N 2
static pthread_barrier_t barrier;
static int cell[N], once;

static void *worker(void *arg)
{
  int me = (int)(intptr_t)arg;
  cell[me] = me + 1;
  int special = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  int sum = cell[me] + cell[(me + 1) % N];
  if (special) once++;
  if (!cell[N - 1] || *(volatile int *)&sum != 3) return NULL;
  pthread_barrier_wait(&barrier);
  cell[me] = 0;
  return arg;
}

static void *worker_without(void *arg)
{
  int me = (int)(intptr_t)arg;
  cell[me] = me + 1;
  pthread_barrier_wait(&barrier);
  cell[me] = cell[(me + 1) % N];
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  pthread_t t[N];
  pthread_barrier_init(&barrier, NULL, N);
  for (long i = 0; i < N; i++) t[i] = spawn(argc > 1 ? worker_without : worker, (void *)i);
  for (int i = 0; i < N; i++) join(t[i]);
  assert(argc > 1 || once == 1);
  pthread_barrier_destroy(&barrier);
  return 0;
}
