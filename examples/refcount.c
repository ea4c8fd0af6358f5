/* refcount.c: an object that is freed when the last reference is dropped.
 *
 * The count is atomic, but put() decrements and tests it in two steps. Both threads can decrement
 * first and then both read 0: the object is freed twice. Or one reads the count of an object the other
 * has just freed.
 *
 *   heddle cc -g refcount.c -o refcount && heddle check -- ./refcount
 *
 * refcount_fixed.c decides by what the decrement itself returned. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct object {
  atomic_int references;
  int value;
};

static void put(struct object *o)
{
  atomic_fetch_sub(&o->references, 1);
  if (atomic_load(&o->references) == 0) /* whose 0 is it? */
    free(o);
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
