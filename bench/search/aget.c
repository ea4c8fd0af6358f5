/* aget.c THREADS PIECES: a download in segments: each thread receives PIECES of its own, and adds what it has written to a
 * number that all share, under a lock; another thread shows the progress, without waiting for the end. After aget 0.4 by M. A.
 * Enderunix, as in Yang (2009), tables 5.1, 6.1 and 7.1, which name the number of threads but not that of pieces.
 *
 * count: 3 1 strategy=optimal executions=24
 * count: 3 2 strategy=optimal executions=630
 * states: 3 2 begun=200
 * states: 4 2 begun=1100
 * symmetry: 3 2 begun=100
 * symmetry: 4 2 begun=320
 * symmetry: 5 2 begun=850
 * clean: 3 1 */
#include "sizes.h"

enum { MAX_PIECES = 16 };

static pthread_mutex_t written_lock = PTHREAD_MUTEX_INITIALIZER;
static int written, pieces;
static int part[MAX_THREADS];

static void *receive(void *arg) {
  int me = (int)(intptr_t)arg;
  for (int i = 0; i < pieces; i++) {
    part[me]++;
    pthread_mutex_lock(&written_lock);
    written++;
    pthread_mutex_unlock(&written_lock);
  }
  return 0;
}

static void *show(void *unused) {
  pthread_mutex_lock(&written_lock);
  int seen = written;
  pthread_mutex_unlock(&written_lock);
  assert(seen <= MAX_THREADS * MAX_PIECES);
  return unused;
}

MAIN {
  int n = SIZE(1, 3);
  pieces = SIZE(2, 2);
  alike();
  for (int i = 0; i < n; i++) start(receive, i);
  start(show, n);
  join_all();
  assert(written == n * pieces);
  return 0;
}
