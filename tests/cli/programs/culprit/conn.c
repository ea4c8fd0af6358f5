#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Connections with a count of references; the registry hands out one more. */
struct conn { atomic_int refs; int bytes; };

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct conn *) current;
static atomic_int opened, closed;

static struct conn *find(void) {
  struct conn *c = atomic_load(&current); /* @find */
  if (!c) return NULL;
  atomic_fetch_add(&c->refs, 1); /* @late */
  return c;
}

static void put(struct conn *c) {
  if (atomic_fetch_sub(&c->refs, 1) == 1) {
    atomic_fetch_add(&closed, 1);
    free(c); /* @free */
  }
}

static void *sender(void *a) {
  struct conn *c = find();
  if (c) put(c);
  return a;
}

static void *closer(void *a) {
  pthread_mutex_lock(&registry);
  struct conn *c = atomic_exchange(&current, NULL); /* @swap */
  pthread_mutex_unlock(&registry);
  if (c) put(c);
  return a;
}

int main(void) {
  struct conn *c = malloc(sizeof *c);
  atomic_init(&c->refs, 1);
  atomic_fetch_add(&opened, 1);
  current = c;
  pthread_t t[2];
  pthread_create(&t[0], NULL, sender, NULL);
  pthread_create(&t[1], NULL, closer, NULL);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  return 0;
}
