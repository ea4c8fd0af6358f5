/* refcount_fixed.c: refcount.c corrected. Exactly one thread sees its own decrement take the count from
 * 1 to 0. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
  atomic_int references;
  int value;
};

static void put(struct object *o)
{
  if (atomic_fetch_sub(&o->references, 1) == 1) free(o);
}

static void *user(void *arg)
{
  struct object *o = arg;
  int used = o->value;
  put(o);
  return used ? arg : NULL;
}

int main(void)
{
  pthread_t t[2];
  struct object *o = malloc(sizeof *o);
  o->references = 2;
  o->value = 42;
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, user, o);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  return 0;
}
