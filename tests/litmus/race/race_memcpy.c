// memcpy of a size the compiler does not know, over a byte another thread writes.
// opt: -O0 -O2
// expect: kind=data-race
// where: function=copier line=@copy
#include "litmus.h"

char shared[100], from[100];
size_t len = 100;

static void *copier(void *arg)
{
  memcpy(shared, from, len); /* @copy */
  return arg;
}

static void *writer(void *arg)
{
  shared[57] = 1;
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  len -= argc;
  both(copier, writer);
  return 0;
}
