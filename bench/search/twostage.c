/* twostage.c TWOSTAGERS READERS: two values that belong together are written one after the other, each under
 * a lock of its own. A reader that comes between the two sees the first without the second; with more
 * writers, one of them has usually been through. TwoStage of Rungta (2009), table 5.2 (hard from 7 on).
 *
 * count: 1 1 strategy=optimal executions=3 findings=assertion
 * count: 2 1 strategy=optimal executions=40 findings=assertion
 * bug: 1 1 kind=assertion
 * bug: 8 1 kind=assertion
 * bug: 20 1 kind=assertion
 * bug: 50 1 kind=assertion
 * bug: 100 1 kind=assertion */
#include "sizes.h"

static pthread_mutex_t lock1 = PTHREAD_MUTEX_INITIALIZER, lock2 = PTHREAD_MUTEX_INITIALIZER;
static atomic_int data1, data2;

static void *two_stager(void *unused) {
  pthread_mutex_lock(&lock1);
  poke(data1, 1);
  pthread_mutex_unlock(&lock1);
  pthread_mutex_lock(&lock2);
  poke(data2, peek(data1) + 1);
  pthread_mutex_unlock(&lock2);
  return unused;
}

static void *reader(void *unused) {
  pthread_mutex_lock(&lock1);
  int first = peek(data1);
  pthread_mutex_unlock(&lock1);
  if (!first) return unused;
  pthread_mutex_lock(&lock2);
  int second = peek(data2);
  pthread_mutex_unlock(&lock2);
  assert(second == first + 1);
  return unused;
}

MAIN {
  int stagers = SIZE(1, 8), readers = SIZE(2, 1);
  for (int i = 0; i < stagers; i++) start(two_stager, i);
  for (int i = 0; i < readers; i++) start(reader, i);
  join_all();
  return 0;
}
