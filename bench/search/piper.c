/* piper.c REQUESTS PAIRS SEATS [FIXED]: PAIRS producers make REQUESTS seat requests each, as many consumers
 * serve them, through a buffer of SEATS. The waits are guarded by `if`: a producer that was woken for a free
 * seat finds it taken by another and puts one too many. It has to be full first, so the error lies the
 * deeper, the larger SEATS. FIXED 1 waits in a loop. Piper of Rungta (2009), appendix B.
 *
 * count: 1 2 1 1 strategy=optimal executions=128
 * count: 1 3 2 1 strategy=optimal executions=10584
 * clean: 1 1 1 1
 * clean: 1 2 1 1
 * bug: 2 2 2 kind=assertion
 * bug: 2 4 4 kind=assertion
 * bug: 2 8 4 kind=assertion */
#include "sizes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int count, seats, requests, fixed;

static void *producer(void *unused) {
  for (int i = 0; i < requests; i++) {
    pthread_mutex_lock(&lock);
    if (count == seats) pthread_cond_wait(&not_full, &lock);
    while (fixed && count == seats) pthread_cond_wait(&not_full, &lock);
    count++;
    assert(count <= seats);
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

static void *consumer(void *unused) {
  for (int i = 0; i < requests; i++) {
    pthread_mutex_lock(&lock);
    while (count == 0) pthread_cond_wait(&not_empty, &lock);
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

MAIN {
  requests = SIZE(1, 2);
  int pairs = SIZE(2, 8);
  seats = SIZE(3, 4);
  fixed = SIZE(4, 0);
  for (int i = 0; i < pairs; i++) start(producer, i);
  for (int i = 0; i < pairs; i++) start(consumer, i);
  join_all();
  return 0;
}
