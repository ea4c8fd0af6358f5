// Destroying a barrier while a thread waits at it; destroying it in the serial thread is correct.
// expect: kind=destroy-in-use
// argv: early
// expect: clean executions=2
// args: --strategy optimal
#include "litmus.h"

static pthread_barrier_t barrier;

static void *worker(void *arg)
{
  if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) pthread_barrier_destroy(&barrier);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t t = spawn(worker, NULL);
  if (argc > 1) pthread_barrier_destroy(&barrier);
  worker(NULL);
  join(t);
  return 0;
}
