/* pfscan.c: a search of files: one thread puts names into a queue, the other one takes one out and counts what matches. The first one
 * sets the count to zero when it is done, which is too late. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

#define SIZE 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int queue[SIZE], in, closed, matches;

static void put(int name) {
  pthread_mutex_lock(&lock);
  int at = in;
  if (at < SIZE) {
    queue[at] = name;
    in = at + 1;
  }
  pthread_mutex_unlock(&lock);
}

static void *walk(void *unused) {
  (void)unused;
  int depth = (int)hd_input_range(0, 15, "depth");
  put(3);
  if (depth > 2) put(depth);
  matches = 0; /* too late: the other one has begun */
  closed = 1;
  return NULL;
}

static void *scan(void *unused) {
  (void)unused;
  int wanted = (int)hd_input_range(0, 15, "wanted");
  pthread_mutex_lock(&lock);
  int name = in > 0 ? queue[0] : -1;
  pthread_mutex_unlock(&lock);
  if (name < 0) return NULL;
  if (name == wanted) {
    matches = matches + 1;
    if (matches == 0) assert(!closed); /* it counted one, and the count is final */
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, walk, NULL);
  pthread_create(&b, NULL, scan, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
