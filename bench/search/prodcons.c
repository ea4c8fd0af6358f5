/* prodcons.c PRODUCERS CONSUMERS ITEMS [FIXED]: producers put ITEMS each and leave; the last one to leave
 * says that it is over, but wakes a single consumer. Any other that waits by then waits forever. FIXED 1
 * wakes all. ProducerConsumer of Rungta (2009), appendix B.
 *
 * count: 1 2 1 1 strategy=optimal executions=104
 * count: 1 2 2 1 strategy=optimal executions=1176
 * clean: 1 2 1 1
 * bug: 1 2 1 kind=deadlock,lost-wakeup
 * bug: 1 8 4 kind=deadlock,lost-wakeup
 * bug: 2 8 4 kind=deadlock,lost-wakeup
 * bug: 1 16 4 kind=deadlock,lost-wakeup */
#include "sizes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static int stock, running, items, fixed;

static void *producer(void *unused) {
  for (int i = 0; i < items; i++) {
    pthread_mutex_lock(&lock);
    stock++;
    pthread_cond_signal(&change);
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_lock(&lock);
  if (--running == 0) {
    if (fixed) {
      pthread_cond_broadcast(&change);
    } else {
      pthread_cond_signal(&change);
    }
  }
  pthread_mutex_unlock(&lock);
  return unused;
}

static void *consumer(void *unused) {
  for (;;) {
    pthread_mutex_lock(&lock);
    while (stock == 0 && running > 0) pthread_cond_wait(&change, &lock);
    int got = stock > 0;
    stock -= got;
    pthread_mutex_unlock(&lock);
    if (!got) return unused;
  }
}

MAIN {
  running = SIZE(1, 2);
  int producers = running, consumers = SIZE(2, 8);
  items = SIZE(3, 4);
  fixed = SIZE(4, 0);
  for (int i = 0; i < producers; i++) start(producer, i);
  for (int i = 0; i < consumers; i++) start(consumer, i);
  join_all();
  assert(stock == 0);
  return 0;
}
