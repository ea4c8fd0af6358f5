/* indexer.c THREADS: the threads put 4 messages each into a hash table of 128 slots; a slot that is taken is
 * found so by a failing compare-and-swap, and the next one is tried. Up to 11 threads never meet (1
 * execution); each thread beyond that meets one other three times: 2^(3*(THREADS-11)) executions. Flanagan
 * and Godefroid (POPL 2005); Yang (2009), table 6.1.
 *
 * count: 11 strategy=optimal executions=1
 * count: 12 strategy=optimal executions=8
 * count: 13 strategy=optimal executions=64
 * count: 14 strategy=optimal executions=512
 * count: 15 strategy=optimal executions=4096
 * count: 16 strategy=optimal executions=32768
 * clean: 12 */
#include "sizes.h"

enum { SLOTS = 128, MESSAGES = 4 };

static atomic_int table[SLOTS];

static void *inserter(void *arg) {
  int me = (int)(intptr_t)arg;
  for (int m = 1; m <= MESSAGES; m++) {
    int w = m * 11 + me;
    int h = w * 7 % SLOTS;
    for (int empty = 0; !atomic_compare_exchange_strong(&table[h], &empty, w); empty = 0) h = (h + 1) % SLOTS;
  }
  return 0;
}

MAIN {
  int n = SIZE(1, 12);
  for (int i = 0; i < n; i++) start(inserter, i);
  join_all();
  return 0;
}
