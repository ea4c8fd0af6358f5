// A local variable of main, handed to a thread.
// expect: kind=data-race
// where: function=main line=@main
#include "litmus.h"

static void *worker(void *arg)
{
  *(int *)arg = 2;
  return NULL;
}

int main(void)
{
  int local = 0;
  pthread_t t = spawn(worker, &local);
  local = 1; /* @main */
  join(t);
  return local == 0;
}
