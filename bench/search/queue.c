/* queue.c PRODUCERS CONSUMERS [FIXED]: a lock-free queue of linked nodes; each producer enqueues one item,
 * each consumer dequeues at most one. The compare-and-swap that links a node was divided into a comparison
 * and a write, so two producers can link to the same node and one item is lost. FIXED 1 has it in one step.
 * LFQueue of Milewicz and Pirkelbauer (2016), table A1, mutation EAN, without their recycling of nodes.
 *
 * count: 2 0 1 strategy=optimal executions=16
 * count: 2 1 1 strategy=optimal executions=128
 * count: 3 0 1 strategy=optimal executions=3192
 * count: 2 0 strategy=optimal executions=20 findings=assertion
 * count: 2 1 strategy=optimal executions=154 findings=assertion
 * clean: 2 0 1
 * clean: 2 1 1
 * bug: 2 0 kind=assertion
 * bug: 2 2 kind=assertion
 * bug: 4 4 kind=assertion
 * bug: 6 2 kind=assertion */
#include "sizes.h"

/* Node 0 is the first dummy; node i belongs to producer i. A next of 0 is the end. */
static atomic_int next[MAX_THREADS], head, tail, taken;
static int fixed;

static int link_node(int last, int node) {
  int end = 0;
  if (fixed) return atomic_compare_exchange_strong(&next[last], &end, node);
  if (peek(next[last]) != 0) return 0;
  poke(next[last], node);
  return 1;
}

static void move(atomic_int *end, int from, int to) { atomic_compare_exchange_strong(end, &from, to); }

static void *producer(void *arg) {
  int node = (int)(intptr_t)arg;
  for (;;) {
    int last = peek(tail), after = peek(next[last]);
    if (after) {
      move(&tail, last, after);
    } else if (link_node(last, node)) {
      move(&tail, last, node);
      return 0;
    }
  }
}

static void *consumer(void *unused) {
  for (;;) {
    int first = peek(head), last = peek(tail), after = peek(next[first]);
    if (!after) return unused;
    if (first == last) {
      move(&tail, last, after);
    } else if (atomic_compare_exchange_strong(&head, &first, after)) {
      atomic_fetch_add(&taken, 1);
      return unused;
    }
  }
}

MAIN {
  int producers = SIZE(1, 2), consumers = SIZE(2, 2), left = 0;
  fixed = SIZE(3, 0);
  for (int i = 1; i <= producers; i++) start(producer, i);
  for (int i = 0; i < consumers; i++) start(consumer, i);
  join_all();
  for (int at = peek(next[peek(head)]); at; at = peek(next[at])) left++;
  assert(peek(taken) + left == producers);
  return 0;
}
