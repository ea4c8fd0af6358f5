/* lostupdate.c THREADS [FIXED]: each thread adds one to a counter, by a read and a write. FIXED 1 adds in
 * one step: THREADS! executions, since any two additions conflict.
 *
 * count: 3 1 strategy=optimal executions=6
 * count: 6 1 strategy=optimal executions=720
 * count: 2 strategy=optimal executions=4 findings=assertion
 * count: 3 strategy=optimal executions=36 findings=assertion
 * clean: 3 1
 * bug: 2 kind=assertion
 * bug: 10 kind=assertion */
#include "sizes.h"

static atomic_int count;
static int fixed;

static void *adder(void *unused) {
  if (fixed) {
    atomic_fetch_add(&count, 1);
  } else {
    bump(count);
  }
  return unused;
}

MAIN {
  int n = SIZE(1, 2);
  fixed = SIZE(2, 0);
  for (int i = 0; i < n; i++) start(adder, i);
  join_all();
  assert(peek(count) == n);
  return 0;
}
