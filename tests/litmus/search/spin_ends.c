// Spinning without a yield on a flag that another thread sets: the search schedules that thread.
// restart: memory fork
// expect: clean executions=100
#include "litmus.h"

static int flag;

static void *setter(void *arg)
{
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  return arg;
}

static void *spinner(void *arg)
{
  while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE))
    ;
  return arg;
}

int main(void)
{
  both(spinner, setter);
  return 0;
}
