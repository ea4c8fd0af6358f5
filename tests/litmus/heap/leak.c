// Memory that no thread can free any more, in one schedule. Reported only on request.
// restart: memory fork
// expect: kind=leak
// args: --leaks
// where: function=worker line=@alloc
// expect: clean executions=300
#include "litmus.h"

static void *slot;

static void *worker(void *arg)
{
  void *p = malloc(24); /* @alloc */
  poke(&slot, p);
  return arg;
}

int main(void)
{
  both(worker, worker);
  free(slot);
  return 0;
}
