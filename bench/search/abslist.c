/* abslist.c COMPARERS ADDERS [FIXED]: a comparer holds the lock of one list while it walks that and another
 * one, whose lock it does not take (FIXED 1: does). Adder k appends to the other list if that has k
 * elements, under its lock. A comparer that is between asking for a next element and fetching it then finds
 * a list that has changed. After the AbsList model of Rungta (2009) (hard at 1, 8): the equals of a
 * synchronised vector.
 *
 * count: 1 2 1 strategy=optimal executions=6
 * count: 1 3 1 strategy=optimal executions=24
 * count: 1 1 strategy=optimal executions=4 findings=assertion
 * count: 1 2 strategy=optimal executions=16 findings=assertion
 * clean: 1 2 1
 * bug: 1 1 kind=assertion
 * bug: 1 8 kind=assertion
 * bug: 1 10 kind=assertion */
#include "sizes.h"

enum { MAX_ELEMENTS = MAX_THREADS + 1 };

struct list {
  pthread_mutex_t lock;
  atomic_int count, changes, element[MAX_ELEMENTS];
};

static struct list left = {.lock = PTHREAD_MUTEX_INITIALIZER}, right = {.lock = PTHREAD_MUTEX_INITIALIZER};
static int fixed;

/* The next element; the list must not have changed since the walk began. */
static int next(struct list *l, int at, int changes) {
  assert(peek(l->changes) == changes);
  return peek(l->element[at]);
}

static void *comparer(void *unused) {
  pthread_mutex_lock(&left.lock);
  if (fixed) pthread_mutex_lock(&right.lock);
  int left_changes = peek(left.changes), right_changes = peek(right.changes), same = 1;
  for (int i = 0; same && i < peek(left.count) && i < peek(right.count); i++) {
    same = next(&left, i, left_changes) == next(&right, i, right_changes);
  }
  if (fixed) pthread_mutex_unlock(&right.lock);
  pthread_mutex_unlock(&left.lock);
  return unused;
}

static void *adder(void *arg) {
  int k = (int)(intptr_t)arg;
  pthread_mutex_lock(&right.lock);
  if (peek(right.count) == k) {
    poke(right.changes, peek(right.changes) + 1);
    poke(right.element[k], k);
    poke(right.count, k + 1);
  }
  pthread_mutex_unlock(&right.lock);
  return 0;
}

MAIN {
  int comparers = SIZE(1, 1), adders = SIZE(2, 8);
  fixed = SIZE(3, 0);
  poke(left.count, adders);
  for (int i = 0; i < adders; i++) poke(left.element[i], i);
  for (int i = 0; i < comparers; i++) start(comparer, i);
  for (int i = 0; i < adders; i++) start(adder, i);
  join_all();
  return 0;
}
