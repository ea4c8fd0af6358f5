// A reference count that is read and decremented in two steps: a use after free, or a double free.
// expect: kind=use-after-free|double-free|data-race
#include "litmus.h"

struct object {
  int refs;
  int value;
};

static void put(struct object *o)
{
  int n = peek(&o->refs);
  poke(&o->refs, n - 1);
  if (n - 1 == 0) free(o);
}

static void *user(void *arg)
{
  struct object *o = arg;
  put(o);
  return NULL;
}

int main(void)
{
  struct object *o = malloc(sizeof *o);
  o->refs = 3;
  pthread_t a = spawn(user, o), b = spawn(user, o);
  o->value = 1;
  put(o);
  join(a);
  join(b);
  return 0;
}
