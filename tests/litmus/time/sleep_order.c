// Sleeping orders nothing.
// expect: kind=data-race|assertion
#include "litmus.h"

int ready;

static void *slow(void *arg)
{
  usleep(10);
  ready = 1;
  return arg;
}

int main(void)
{
  pthread_t t = spawn(slow, NULL);
  sleep(1);
  assert(ready);
  join(t);
  return 0;
}
