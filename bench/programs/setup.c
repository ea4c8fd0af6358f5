/* setup.c: two threads take one lock 4 times each, after a set-up of UNITS million rounds, a second or so for 1,000;
 * compiled with -DUNITS=. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static unsigned *table;

static void set_up(void) {
  unsigned x = 1;
  table = malloc(1 << 20);
  for (long i = 0; i < UNITS * 1000000l; i++) {
    x = x * 1664525 + 1013904223;
    if (i % 4096 == 0) table[x >> 14] = x;
  }
  count = x == 0;
}

static void *worker(void *unused) {
  for (int i = 0; i < 4; i++) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  if (UNITS) set_up();
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return count != 8;
}
