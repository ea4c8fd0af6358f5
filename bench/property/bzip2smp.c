/* bzip2smp.c WORKERS BLOCKS: workers take numbers of blocks under one lock, compress, and put what comes of it into its place
 * under another one; whoever completes the next block writes it, and those that are ready after it. After the program of that
 * name in Yang (2009), table 5.1. */
#include "../search/sizes.h"

enum { MAX_BLOCKS = 16 };

static pthread_mutex_t input = PTHREAD_MUTEX_INITIALIZER, output = PTHREAD_MUTEX_INITIALIZER;
static int blocks, taken, written, sum, ready[MAX_BLOCKS], packed[MAX_BLOCKS];

static void *worker(void *unused) {
  for (;;) {
    pthread_mutex_lock(&input);
    int block = taken < blocks ? taken++ : -1;
    pthread_mutex_unlock(&input);
    if (block < 0) return unused;
    int size = 3 * block + 3;
    pthread_mutex_lock(&output);
    packed[block] = size;
    ready[block] = 1;
    while (written < blocks && ready[written]) sum += packed[written++];
    pthread_mutex_unlock(&output);
  }
}

MAIN {
  int workers = SIZE(1, 3);
  blocks = SIZE(2, 3);
  for (int i = 0; i < workers; i++) start(worker, i);
  join_all();
  assert(sum == 3 * blocks * (blocks + 1) / 2);
  return 0;
}
