#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* A read-mostly cache of one table, filled on demand and dropped when the table changes. */
static pthread_rwlock_t cache_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static int table[4] = {1, 2, 3, 4};
static struct { int valid, value; } cache[4];
static int hits;
static pthread_mutex_t stat_lock = PTHREAD_MUTEX_INITIALIZER;

static void count(void) {
  pthread_mutex_lock(&stat_lock);
  hits++;
  pthread_mutex_unlock(&stat_lock);
}

static int load(int k) {
  pthread_mutex_lock(&table_lock);
  int v = table[k]; /* @look */
  pthread_mutex_unlock(&table_lock);
  return v;
}

static int get(int k) {
  pthread_rwlock_rdlock(&cache_lock);
  if (cache[k].valid) {
    int v = cache[k].value;
    pthread_rwlock_unlock(&cache_lock);
    count();
    return v;
  }
  pthread_rwlock_unlock(&cache_lock);
  int v = load(k);
  pthread_rwlock_wrlock(&cache_lock);
  cache[k].value = v; /* @stale */
  cache[k].valid = 1; /* @keep */
  pthread_rwlock_unlock(&cache_lock);
  return v;
}

static void set(int k, int v) {
  pthread_mutex_lock(&table_lock);
  table[k] = v; /* @change */
  pthread_mutex_unlock(&table_lock);
  pthread_rwlock_wrlock(&cache_lock);
  cache[k].valid = 0; /* @drop */
  pthread_rwlock_unlock(&cache_lock);
}

static void *reader(void *a) {
  for (int i = 0; i < 2; i++) get((int)(long)a);
  return a;
}
static void *writer(void *a) {
  set(1, 20);
  return a;
}
int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], 0, reader, (void *)1);
  pthread_create(&t[1], 0, reader, (void *)2);
  pthread_create(&t[2], 0, writer, 0);
  for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
  assert(get(1) == table[1]);
  return 0;
}
