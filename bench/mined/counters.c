/* counters.c: counters in shards, with a total that is kept by a fetch-and-add and a maximum that is kept by a loop of
 * compare-exchange; a flag tells a reader that all is done. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { SHARDS = 2, THREADS = 3, EACH = 2 };
static struct {
  pthread_mutex_t lock;
  int n;
} shard[SHARDS];
static atomic_int total, highest, finished;

static void raise_to(int v) {
  int old = atomic_load(&highest);
  while (old < v && !atomic_compare_exchange_weak(&highest, &old, v)) {
  }
}

static void count(int me, int v) {
  pthread_mutex_lock(&shard[me % SHARDS].lock);
  shard[me % SHARDS].n += v;
  pthread_mutex_unlock(&shard[me % SHARDS].lock);
  atomic_fetch_add(&total, v);
  raise_to(v);
}

static void *counter(void *p) {
  int me = (int)(long)p;
  for (int i = 1; i <= EACH; i++) count(me, me + i);
  atomic_fetch_add(&finished, 1);
  return 0;
}

static void *reader(void *p) {
  if (atomic_load(&finished) == THREADS) assert(atomic_load(&total) == 15);
  return p;
}

int main(void) {
  pthread_t t[THREADS + 1];
  for (int i = 0; i < SHARDS; i++) pthread_mutex_init(&shard[i].lock, 0);
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, counter, (void *)i);
  pthread_create(&t[THREADS], 0, reader, 0);
  for (int i = 0; i <= THREADS; i++) pthread_join(t[i], 0);
  assert(shard[0].n + shard[1].n == 15 && atomic_load(&total) == 15 && highest == 4);
}
