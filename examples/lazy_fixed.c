/* lazy_fixed.c: lazy.c corrected with an atomic pointer. pthread_once would work as well. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *_Atomic table;

static int *get_table(void)
{
  int *t = atomic_load_explicit(&table, memory_order_acquire);
  if (t) return t;
  pthread_mutex_lock(&lock);
  t = atomic_load_explicit(&table, memory_order_relaxed);
  if (!t) {
    t = calloc(10, sizeof *t);
    for (int i = 0; i < 10; i++) t[i] = i * i;
    atomic_store_explicit(&table, t, memory_order_release);
  }
  pthread_mutex_unlock(&lock);
  return t;
}

static void *user(void *arg)
{
  assert(get_table()[7] == 49);
  return arg;
}

int main(void)
{
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, user, NULL);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  free(table);
  return 0;
}
