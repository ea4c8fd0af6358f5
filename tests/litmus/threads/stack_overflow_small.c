// A thread with a small stack, and an array that does not fit.
// expect: kind=stack-overflow
#include "litmus.h"
#include <limits.h>

static void *worker(void *arg)
{
  volatile char big[40000];
  for (int i = sizeof big - 1; i >= 0; i -= 64) big[i] = 1;
  return (void *)(long)(big[39999] + (arg != NULL));
}

int main(void)
{
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  assert(pthread_attr_setstacksize(&attr, 16384) == 0);
  assert(pthread_create(&t, &attr, worker, NULL) == 0);
  join(t);
  return 0;
}
