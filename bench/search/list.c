/* list.c PRODUCERS CONSUMERS [FIXED]: a sorted list with one lock; producers insert keys of their own,
 * consumers remove others. The critical section was shrunk: the place is looked for before the lock is
 * taken, so two that found the same place undo each other or leave it unsorted. FIXED 1 looks under the
 * lock. CoarseList of Milewicz and Pirkelbauer (2016), table A1, mutation SKCR.
 *
 * count: 2 1 1 strategy=optimal executions=6
 * count: 3 2 1 strategy=optimal executions=120
 * count: 2 0 strategy=optimal executions=4 findings=assertion
 * clean: 2 1 1
 * bug: 2 0 kind=assertion
 * bug: 2 2 kind=assertion
 * bug: 4 4 kind=assertion
 * bug: 6 2 kind=assertion */
#include "sizes.h"

/* Nodes are numbered by key. HEAD is before all keys and TAIL behind them. */
enum { HEAD = 0, TAIL = 2 * MAX_THREADS };

static atomic_int next[TAIL];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int fixed;

static int before(int key) {
  int at = HEAD;
  for (int after; (after = peek(next[at])) < key;) at = after;
  return at;
}

static void change(int key, int insert) {
  if (fixed) pthread_mutex_lock(&lock);
  int at = before(key);
  if (!fixed) pthread_mutex_lock(&lock);
  if (insert) {
    poke(next[key], peek(next[at]));
    poke(next[at], key);
  } else {
    poke(next[at], peek(next[key]));
  }
  pthread_mutex_unlock(&lock);
}

static void *producer(void *key) {
  change((int)(intptr_t)key, 1);
  return 0;
}

static void *consumer(void *key) {
  change((int)(intptr_t)key, 0);
  return 0;
}

MAIN {
  int producers = SIZE(1, 2), consumers = SIZE(2, 2), found = 0;
  fixed = SIZE(3, 0);
  int last = HEAD;
  for (int i = 0; i < consumers; i++) {
    poke(next[last], 2 * i + 1);
    last = 2 * i + 1;
  }
  poke(next[last], TAIL);
  for (int i = 0; i < producers; i++) start(producer, 2 * i + 2);
  for (int i = 0; i < consumers; i++) start(consumer, 2 * i + 1);
  join_all();
  last = HEAD;
  for (int at = peek(next[HEAD]); at != TAIL; at = peek(next[at])) {
    assert(at % 2 == 0 && at > last);
    last = at;
    found++;
  }
  assert(found == producers);
  return 0;
}
