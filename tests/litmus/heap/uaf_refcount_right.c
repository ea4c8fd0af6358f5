// The same with one atomic step.
// expect: clean executions=500
// args: --leaks
#include "litmus.h"

struct object {
  int refs;
  int value[2];
};

static void put(struct object *o)
{
  if (__atomic_fetch_sub(&o->refs, 1, __ATOMIC_ACQ_REL) == 1) free(o);
}

static void *user(void *arg)
{
  struct object *o = arg;
  assert(o->value[0] == 1);
  put(o);
  return NULL;
}

int main(void)
{
  struct object *o = malloc(sizeof *o);
  o->refs = 3;
  o->value[0] = 1;
  pthread_t a = spawn(user, o), b = spawn(user, o);
  put(o);
  join(a);
  join(b);
  return 0;
}
