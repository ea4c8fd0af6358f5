// zstd's thread pool (lib/common/pool.c): two workers, a queue of one, and jobs added by main.
//
// argv[1] is the number of jobs; with "resize", the pool grows while jobs are in it.
#include "pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int done[8];

static void job(void *p) { ++*(int *)p; }

int main(int argc, char **argv) {
  int jobs = argc > 1 ? atoi(argv[1]) : 2, resize = argc > 2 && !strcmp(argv[2], "resize");
  POOL_ctx *pool = POOL_create(resize ? 1 : 2, 1);
  assert(pool && jobs <= 8);
  for (int i = 0; i < jobs; i++) {
    if (resize && i == 1) {
      assert(POOL_resize(pool, 2) == 0);
    }
    POOL_add(pool, job, &done[i]);
  }
  POOL_free(pool); // Joins the workers, after they have emptied the queue.
  for (int i = 0; i < jobs; i++) {
    assert(done[i] == 1);
  }
  return 0;
}
