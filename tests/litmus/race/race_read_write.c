// A reader and a writer, in two functions.
// expect: kind=data-race
// where: function=reader line=@read
// where: function=writer line=@write
#include "litmus.h"

long value;

static void *reader(void *arg)
{
  (void)arg;
  return (void *)value; /* @read */
}

static void *writer(void *arg)
{
  value = 1; /* @write */
  return arg;
}

int main(void)
{
  both(reader, writer);
  return 0;
}
