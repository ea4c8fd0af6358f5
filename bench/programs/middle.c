/* middle.c: four threads compute for a while, UNITS million rounds, and take a lock, four times each: executions differ in what
 * comes after a long beginning that they share. */
#include <pthread.h>

#define THREADS 4
#define TIMES 4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static unsigned compute(unsigned x) {
  for (long i = 0; i < UNITS * 1000000l; i++) x = x * 1664525 + 1013904223;
  return x;
}

static void *worker(void *unused) {
  for (int i = 0; i < TIMES; i++) {
    unsigned x = compute((unsigned)i);
    pthread_mutex_lock(&lock);
    count += x != 1;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  return count > TIMES * THREADS;
}
