/* disjoint.c THREADS: each thread writes a variable of its own, next to those of the others. Nothing
 * conflicts: exactly one execution, however many threads there are.
 *
 * count: 2 strategy=optimal executions=1
 * count: 8 strategy=optimal executions=1
 * count: 32 strategy=optimal executions=1
 * clean: 8 */
#include "sizes.h"

static atomic_int x[MAX_THREADS];

static void *writer(void *arg) {
  int me = (int)(intptr_t)arg;
  poke(x[me], 1);
  poke(x[me], 2);
  return 0;
}

MAIN {
  int n = SIZE(1, 3);
  for (int i = 0; i < n; i++) start(writer, i);
  join_all();
  return 0;
}
