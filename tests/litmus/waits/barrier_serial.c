// Assuming that a certain thread is always the serial thread.
// expect: kind=assertion
// where: function=worker line=@assert
#include "litmus.h"

static pthread_barrier_t barrier;

static void *worker(void *arg)
{
  int special = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  assert(special == (arg != NULL)); /* @assert */
  return arg;
}

int main(void)
{
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_t a = spawn(worker, NULL), b = spawn(worker, &barrier);
  join(a);
  join(b);
  return 0;
}
