/* parts.c: see parts.h. With -DHASTY it has two mistakes. */
#include "parts.h"

#include <stddef.h>

/* ---- counter ---- */

void counter_init(struct counter *c, int units) { c->units = units; }

void counter_add(struct counter *c, int units) { __atomic_fetch_add(&c->units, units, __ATOMIC_SEQ_CST); }

bool counter_take(struct counter *c) {
  int n = __atomic_load_n(&c->units, __ATOMIC_SEQ_CST);
  while (n > 0)
    if (__atomic_compare_exchange_n(&c->units, &n, n - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
      return true;
  return false;
}

int counter_units(struct counter *c) { return __atomic_load_n(&c->units, __ATOMIC_SEQ_CST); }

/* ---- queue ---- */

void queue_init(struct queue *q) {
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->changed, NULL);
  q->first = q->n = 0;
  q->closed = false;
}

void queue_fini(struct queue *q) {
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->lock);
}

static bool put(struct queue *q, int item) {
  if (q->closed || q->n == QUEUE_ROOM) return false;
  q->item[(q->first + q->n++) % QUEUE_ROOM] = item;
  pthread_cond_broadcast(&q->changed);
  return true;
}

bool queue_put(struct queue *q, int item) {
  pthread_mutex_lock(&q->lock);
  while (!q->closed && q->n == QUEUE_ROOM) pthread_cond_wait(&q->changed, &q->lock);
  bool done = put(q, item);
  pthread_mutex_unlock(&q->lock);
  return done;
}

bool queue_try_put(struct queue *q, int item) {
  pthread_mutex_lock(&q->lock);
  bool done = put(q, item);
  pthread_mutex_unlock(&q->lock);
  return done;
}

bool queue_take(struct queue *q, int *item) {
  pthread_mutex_lock(&q->lock);
  while (!q->closed && q->n == 0) pthread_cond_wait(&q->changed, &q->lock);
  bool done = q->n > 0;
  if (done) {
    *item = q->item[q->first];
    q->first = (q->first + 1) % QUEUE_ROOM;
    q->n--;
    pthread_cond_broadcast(&q->changed);
  }
  pthread_mutex_unlock(&q->lock);
  return done;
}

void queue_close(struct queue *q) {
  pthread_mutex_lock(&q->lock);
  q->closed = true;
#ifdef HASTY
  pthread_cond_signal(&q->changed); /* several may be waiting */
#else
  pthread_cond_broadcast(&q->changed);
#endif
  pthread_mutex_unlock(&q->lock);
}

/* ---- cache ---- */

void cache_init(struct cache *c, int (*make)(int key)) {
  pthread_mutex_init(&c->lock, NULL);
  c->make = make;
  c->n = 0;
}

void cache_fini(struct cache *c) { pthread_mutex_destroy(&c->lock); }

static bool find(const struct cache *c, int key, int *value) {
  for (unsigned i = 0; i < c->n; i++)
    if (c->entry[i].key == key) {
      *value = c->entry[i].value;
      return true;
    }
  return false;
}

int cache_get(struct cache *c, int key) {
  int value;
  pthread_mutex_lock(&c->lock);
  if (!find(c, key, &value)) {
#ifdef HASTY
    pthread_mutex_unlock(&c->lock); /* somebody else may make it meanwhile */
    value = c->make(key);
    pthread_mutex_lock(&c->lock);
#else
    value = c->make(key);
#endif
    if (c->n < CACHE_ROOM) {
      c->entry[c->n].key = key;
      c->entry[c->n++].value = value;
    }
  }
  pthread_mutex_unlock(&c->lock);
  return value;
}

void cache_forget(struct cache *c) {
  pthread_mutex_lock(&c->lock);
  c->n = 0;
  pthread_mutex_unlock(&c->lock);
}
