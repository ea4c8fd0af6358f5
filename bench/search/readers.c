/* readers.c READERS: one writer, and readers that each read once. A reader comes before the write or after
 * it, and readers do not conflict with each other: 2^READERS executions.
 *
 * count: 1 strategy=optimal executions=2
 * count: 4 strategy=optimal executions=16
 * count: 8 strategy=optimal executions=256
 * count: 12 strategy=optimal executions=4096
 * count: 15 strategy=optimal executions=32768
 * clean: 4 */
#include "sizes.h"

static atomic_int x;

static void *writer(void *unused) {
  poke(x, 1);
  return unused;
}

static void *reader(void *unused) {
  int v = peek(x);
  assert(v == 0 || v == 1);
  return unused;
}

MAIN {
  int n = SIZE(1, 3);
  start(writer, 0);
  for (int i = 0; i < n; i++) start(reader, i);
  join_all();
  return 0;
}
