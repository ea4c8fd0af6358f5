// pthread_once runs its function once and orders it before every caller.
// expect: clean executions=500
#include "litmus.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int value;

static void init(void) { value++; }

static void *worker(void *arg)
{
  pthread_once(&once, init);
  assert(value == 1);
  return arg;
}

int main(void)
{
  both(worker, worker);
  worker(NULL);
  return 0;
}
