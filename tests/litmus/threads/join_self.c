// Joining oneself is refused, as POSIX allows and glibc does.
// expect: clean executions=50
#include "litmus.h"

static void *worker(void *arg)
{
  assert(pthread_join(pthread_self(), NULL) == EDEADLK);
  return arg;
}

int main(void)
{
  assert(pthread_join(pthread_self(), NULL) == EDEADLK);
  join(spawn(worker, NULL));
  return 0;
}
