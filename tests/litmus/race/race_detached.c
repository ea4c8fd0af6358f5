// A detached thread writes while main reads.
// expect: kind=data-race
#include "litmus.h"

int value;

static void *worker(void *arg)
{
  value = 1;
  return arg;
}

int main(void)
{
  pthread_t t = spawn(worker, NULL);
  pthread_detach(t);
  return value == 1;
}
