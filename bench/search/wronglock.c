/* wronglock.c DATALOCKERS CLASSLOCKERS [FIXED]: the data lockers change a value under the lock of the data
 * and check that nobody interfered; the class lockers change it under another lock. FIXED 1 has all of them
 * use the same. Wronglock of Rungta (2009), table 3.1 (hard at 1, 20).
 *
 * count: 1 2 1 strategy=optimal executions=6
 * count: 2 4 1 strategy=optimal executions=720
 * count: 1 1 strategy=optimal executions=7 findings=assertion
 * count: 1 2 strategy=optimal executions=48 findings=assertion
 * clean: 1 2 1
 * bug: 1 1 kind=assertion
 * bug: 1 20 kind=assertion
 * bug: 20 1 kind=assertion */
#include "sizes.h"

static pthread_mutex_t data_lock = PTHREAD_MUTEX_INITIALIZER, class_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int value;
static int fixed;

static void *data_locker(void *unused) {
  pthread_mutex_lock(&data_lock);
  int before = peek(value);
  bump(value);
  assert(peek(value) == before + 1);
  pthread_mutex_unlock(&data_lock);
  return unused;
}

static void *class_locker(void *unused) {
  pthread_mutex_t *lock = fixed ? &data_lock : &class_lock;
  pthread_mutex_lock(lock);
  bump(value);
  pthread_mutex_unlock(lock);
  return unused;
}

MAIN {
  int data = SIZE(1, 1), class = SIZE(2, 20);
  fixed = SIZE(3, 0);
  for (int i = 0; i < data; i++) start(data_locker, i);
  for (int i = 0; i < class; i++) start(class_locker, i);
  join_all();
  return 0;
}
