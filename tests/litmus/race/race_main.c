// The first thread races with the one it created.
// expect: kind=data-race
// where: thread=T0 function=main line=@main
// where: thread=T1 function=worker
#include "litmus.h"

int value;

static void *worker(void *arg)
{
  value = 2;
  return arg;
}

int main(void)
{
  pthread_t t = spawn(worker, NULL);
  value = 1; /* @main */
  join(t);
  return 0;
}
