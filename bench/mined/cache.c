/* cache.c: a cache with a read-write lock, which is filled on demand, and an atomic count of hits. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

enum { KEYS = 2 };
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int valid[KEYS], value[KEYS], fills;
static atomic_int hits, misses;

static int load(int key) { return 100 + key; }

static int lookup(int key) {
  int v;
  pthread_rwlock_rdlock(&lock);
  if (valid[key]) {
    v = value[key];
    pthread_rwlock_unlock(&lock);
    atomic_fetch_add(&hits, 1);
    return v;
  }
  pthread_rwlock_unlock(&lock);
  atomic_fetch_add(&misses, 1);
  pthread_rwlock_wrlock(&lock);
  if (!valid[key]) {
    value[key] = load(key);
    valid[key] = 1;
    fills++;
  }
  v = value[key];
  pthread_rwlock_unlock(&lock);
  return v;
}

static void drop(int key) {
  pthread_rwlock_wrlock(&lock);
  valid[key] = 0;
  value[key] = -1;
  pthread_rwlock_unlock(&lock);
}

static void *reader(void *p) {
  for (int k = 0; k < KEYS; k++) assert(lookup(k) == 100 + k);
  return p;
}
static void *dropper(void *p) {
  drop(0);
  drop(1);
  return p;
}

int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, reader, 0);
  pthread_create(&t[3], 0, dropper, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  assert(hits + misses == 3 * KEYS && fills >= KEYS && fills <= 2 * KEYS);
}
