// Two threads add to a plain counter.
// opt: -O0 -O1 -O2
// expect: kind=data-race
// where: function=worker line=@add role=at
// where: function=worker line=@add role=previous
// says: data race on `counter`
// replays: 10
#include "litmus.h"

int counter;

static void *worker(void *arg)
{
  counter++; /* @add */
  return arg;
}

int main(void)
{
  both(worker, worker);
  return 0;
}
