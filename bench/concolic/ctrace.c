/* ctrace.c: a tracing library: threads register in a table, and one of them turns tracing off. That may come between a thread's
 * look at the switch and its use of the table. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

#define THREADS 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int on = 1, table = 1;
static _Atomic int count;
static int id[THREADS];

static int enter(int who) {
  int found = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < count; i++)
    if (id[i] == who) found = i;
  if (found < 0 && count < THREADS) {
    id[count] = who;
    found = count;
    count = count + 1;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static void *work(void *unused) {
  (void)unused;
  int level = (int)hd_input_range(0, 7, "level");
  if (on && level > 3) {
    int at = enter(level);
    if (at >= 2) return NULL;
    assert(table); /* it was there when `on` was looked at */
  }
  return NULL;
}

static void *stop(void *unused) {
  (void)unused;
  if (enter(9) == 1) on = 2;
  on = 0;
  table = 0;
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, work, NULL);
  pthread_create(&b, NULL, stop, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
