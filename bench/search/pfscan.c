/* pfscan.c WORKERS FILES: a parallel scanner of files: the first thread puts names into a bounded queue and closes it,
 * workers take them, scan, and count what they found under a lock of its own; the last to leave wakes the first thread.
 * After pfscan 1.0 by P. Eriksson, as in Yang (2009), tables 4.1 and 7.1, which name the number of threads (3 to 5, the
 * first included) but not that of files.
 *
 * count: 1 2 strategy=optimal executions=40
 * count: 2 1 strategy=optimal executions=832
 * count: 2 2 strategy=optimal executions=12512
 * states: 2 1 begun=160
 * states: 2 2 begun=400
 * states: 3 2 begun=5500
 * states: 4 2 begun=68000
 * symmetry: 2 2 begun=350
 * symmetry: 3 2 begun=3800
 * symmetry: 4 2 begun=31000
 * clean: 2 1 */
#include "sizes.h"

enum { CAPACITY = 8 };

static struct {
  pthread_mutex_t lock;
  pthread_cond_t more, less;
  int slots[CAPACITY], first, occupied, closed;
} queue = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0, 0};
static pthread_mutex_t worker_lock = PTHREAD_MUTEX_INITIALIZER, match_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t worker_left = PTHREAD_COND_INITIALIZER;
static int workers, matches;

/* Not inlined: in the original the queue is a file of its own. */
static __attribute__((noinline)) void put(int name) {
  pthread_mutex_lock(&queue.lock);
  while (queue.occupied == CAPACITY) pthread_cond_wait(&queue.less, &queue.lock);
  queue.slots[(queue.first + queue.occupied++) % CAPACITY] = name;
  pthread_cond_signal(&queue.more);
  pthread_mutex_unlock(&queue.lock);
}

static void finish(void) {
  pthread_mutex_lock(&queue.lock);
  queue.closed = 1;
  pthread_cond_broadcast(&queue.more);
  pthread_mutex_unlock(&queue.lock);
}

static __attribute__((noinline)) int get(void) {
  int name = 0;
  pthread_mutex_lock(&queue.lock);
  while (!queue.occupied && !queue.closed) pthread_cond_wait(&queue.more, &queue.lock);
  if (queue.occupied) {
    name = queue.slots[queue.first];
    queue.first = (queue.first + 1) % CAPACITY;
    queue.occupied--;
    pthread_cond_signal(&queue.less);
  }
  pthread_mutex_unlock(&queue.lock);
  return name;
}

static __attribute__((noinline)) void scan(int name) {
  pthread_mutex_lock(&match_lock);
  matches += name;
  pthread_mutex_unlock(&match_lock);
}

static void *worker(void *unused) {
  int name;
  while ((name = get()) != 0) scan(name);
  pthread_mutex_lock(&worker_lock);
  workers--;
  pthread_cond_signal(&worker_left);
  pthread_mutex_unlock(&worker_lock);
  return unused;
}

MAIN {
  int files = SIZE(2, 2), n = SIZE(1, 2);
  workers = n;
  alike();
  for (int i = 0; i < n; i++) start(worker, i);
  for (int i = 1; i <= files; i++) put(i);
  finish();
  pthread_mutex_lock(&worker_lock);
  while (workers) pthread_cond_wait(&worker_left, &worker_lock);
  pthread_mutex_unlock(&worker_lock);
  join_all();
  assert(matches == files * (files + 1) / 2);
  return 0;
}
