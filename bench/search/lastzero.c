/* lastzero.c WRITERS: writer j stores array[j-1] + 1 into array[j], and one thread looks, from the end, for
 * the last element that is zero. What that thread reads decides how far it goes. Abdulla, Aronis, Jonsson
 * and Sagonas (POPL 2014), whose optimal algorithm gives the counts below.
 *
 * count: 5 strategy=optimal executions=64
 * count: 10 strategy=optimal executions=3328
 * count: 15 strategy=optimal executions=147456
 * clean: 5 */
#include "sizes.h"

static atomic_int array[MAX_THREADS];
static int writers;

static void *searcher(void *unused) {
  int i = writers;
  while (peek(array[i]) != 0) i--;
  assert(i >= 0);
  return unused;
}

static void *writer(void *arg) {
  int j = (int)(intptr_t)arg;
  poke(array[j], peek(array[j - 1]) + 1);
  return 0;
}

MAIN {
  writers = SIZE(1, 5);
  start(searcher, 0);
  for (int j = 1; j <= writers; j++) start(writer, j);
  join_all();
  return 0;
}
