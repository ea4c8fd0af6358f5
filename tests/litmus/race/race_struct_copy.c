// A structure is copied while one of its fields is written.
// opt: -O0 -O2
// expect: kind=data-race
#include "litmus.h"

struct big {
  int v[32];
};
struct big shared, copy;

static void *one(void *arg)
{
  copy = shared;
  return arg;
}

static void *two(void *arg)
{
  shared.v[19] = 1;
  return arg;
}

int main(void)
{
  both(one, two);
  return copy.v[0];
}
