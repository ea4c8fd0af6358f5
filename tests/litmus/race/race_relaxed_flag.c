// A relaxed flag orders nothing.
// expect: kind=data-race
// where: function=reader line=@read
#include "litmus.h"

static int flag, data;

static void *writer(void *arg)
{
  data = 42;
  poke(&flag, 1);
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  if (peek(&flag)) return (void *)(long)data; /* @read */
  return NULL;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
