// A loop that ends only when its thread is cancelled: it waits, and is no hang. One execution for each place at which the
// cancellation can come: before the thread starts, before the loop, in its first round, while it waits.
// restart: memory fork
// expect: exact executions=4
#include "litmus.h"

static void *worker(void *arg)
{
  for (;;) pthread_testcancel();
  return arg;
}

int main(void)
{
  void *ret = NULL;
  pthread_t t = spawn(worker, NULL);
  pthread_cancel(t);
  pthread_join(t, &ret);
  assert(ret == PTHREAD_CANCELED);
  return 0;
}
