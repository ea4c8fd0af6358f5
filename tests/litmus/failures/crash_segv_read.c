// A pointer that is still NULL when it is used.
// opt: -O0 -O2
// restart: memory fork
// expect: kind=crash
// where: function=user line=@use thread=T2
// says: SIGSEGV
#include "litmus.h"

struct box {
  char pad[16];
  int v;
};
static struct box thing, *box;

static void *init(void *arg)
{
  poke(&box, &thing);
  return arg;
}

static void *user(void *arg)
{
  (void)arg;
  return (void *)(long)peek(&box)->v; /* @use */
}

int main(void)
{
  both(init, user);
  return 0;
}
