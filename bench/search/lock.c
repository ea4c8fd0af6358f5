/* lock.c THREADS: each thread takes the one lock once. The order of the threads is all that can differ, so
 * there are exactly THREADS! executions.
 *
 * count: 3 strategy=optimal executions=6
 * count: 4 strategy=optimal executions=24
 * count: 5 strategy=optimal executions=120
 * count: 6 strategy=optimal executions=720
 * count: 7 strategy=optimal executions=5040
 * count: 8 strategy=optimal executions=40320
 * count: 9 strategy=optimal executions=362880
 * symmetry: 8 strategy=optimal begun=1
 * symmetry: 32 begun=1
 * clean: 4 */
#include "sizes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *unused) {
  pthread_mutex_lock(&lock);
  count++;
  pthread_mutex_unlock(&lock);
  return unused;
}

MAIN {
  int n = SIZE(1, 3);
  alike();
  for (int i = 0; i < n; i++) start(worker, i);
  join_all();
  assert(count == n);
  return 0;
}
