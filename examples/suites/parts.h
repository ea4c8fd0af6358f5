/* parts.h: three things that threads share: a counter, a queue, a cache. */
#ifndef PARTS_H
#define PARTS_H

#include <pthread.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number of units. */
struct counter {
  int units;
};

void counter_init(struct counter *c, int units);
void counter_add(struct counter *c, int units);
bool counter_take(struct counter *c); /* one unit; false: there is none */
int counter_units(struct counter *c);

/* A queue with room for a few. */
#define QUEUE_ROOM 2

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int item[QUEUE_ROOM];
  unsigned first, n;
  bool closed;
};

void queue_init(struct queue *q);
void queue_fini(struct queue *q);
bool queue_put(struct queue *q, int item);     /* waits for room; false: the queue is closed */
bool queue_try_put(struct queue *q, int item); /* does not wait */
bool queue_take(struct queue *q, int *item);   /* waits for an item; false: it is closed and empty */
void queue_close(struct queue *q);

/* Values that are made when they are first asked for. */
#define CACHE_ROOM 4

struct cache {
  pthread_mutex_t lock;
  int (*make)(int key);
  struct {
    int key, value;
  } entry[CACHE_ROOM];
  unsigned n;
};

void cache_init(struct cache *c, int (*make)(int key));
void cache_fini(struct cache *c);
int cache_get(struct cache *c,
              int key); /* makes the value of a key once, unless there is no room to keep it */
void cache_forget(struct cache *c);

#ifdef __cplusplus
}
#endif

#endif
