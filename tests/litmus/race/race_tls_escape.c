// A thread-local variable whose address another thread uses.
// expect: kind=data-race
#include "litmus.h"

static _Thread_local int mine;

static void *worker(void *arg)
{
  *(int *)arg = 2;
  return NULL;
}

int main(void)
{
  pthread_t t = spawn(worker, &mine);
  mine = 1;
  join(t);
  return 0;
}
