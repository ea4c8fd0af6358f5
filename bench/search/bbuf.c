/* bbuf.c PRODUCERS CONSUMERS CAPACITY ITEMS: a bounded buffer with a lock and two conditions; each producer
 * puts ITEMS, and the consumers take them all between them. Yang (2009), tables 4.1 and 6.1, which name the
 * number of threads (4 and 8) but neither capacity nor items. The smaller counts were confirmed by dfs, the
 * larger by dpor.
 *
 * count: 1 1 1 2 strategy=optimal executions=8
 * count: 1 2 1 2 strategy=optimal executions=32
 * count: 2 2 2 1 strategy=optimal executions=60
 * count: 2 2 2 2 strategy=optimal executions=33192
 * states: 2 2 2 1 begun=80
 * states: 2 2 2 2 begun=2500
 * clean: 1 1 1 2
 * clean: 2 2 2 1 */
#include "sizes.h"

enum { MAX_CAPACITY = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int slots[MAX_CAPACITY], first, count, capacity, items, taken;

static void put(int item) {
  pthread_mutex_lock(&lock);
  while (count == capacity) pthread_cond_wait(&not_full, &lock);
  slots[(first + count++) % capacity] = item;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

static int get(void) {
  pthread_mutex_lock(&lock);
  while (count == 0) pthread_cond_wait(&not_empty, &lock);
  int item = slots[first];
  first = (first + 1) % capacity;
  count--;
  taken++;
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&lock);
  return item;
}

static void *producer(void *unused) {
  for (int i = 1; i <= items; i++) put(i);
  return unused;
}

static void *consumer(void *share) {
  for (int i = 0; i < (int)(intptr_t)share; i++) {
    int item = get();
    assert(item >= 1 && item <= items);
  }
  return 0;
}

MAIN {
  int producers = SIZE(1, 2), consumers = SIZE(2, 2);
  capacity = SIZE(3, 2);
  items = SIZE(4, 1);
  int total = producers * items;
  for (int i = 0; i < producers; i++) start(producer, i);
  for (int i = 0; i < consumers; i++) start(consumer, total / consumers + (i < total % consumers));
  join_all();
  assert(taken == total);
  return 0;
}
