/* unshared.c: 10,000 accesses per execution that no other thread ever sees, on two threads, beside a
 * handful of visible ones: what an execution costs when most of its work is a thread's own business. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define WORDS 128
#define ROUNDS 2500 /* one read and one write each, on two threads: 10,000 accesses */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total;

__attribute__((noinline)) static uint64_t work(uint64_t *w, uint64_t x) {
  for (int i = 0; i < ROUNDS; i++) {
    x = (x ^ w[i % WORDS]) * 0x9e3779b97f4a7c15u;
    w[i % WORDS] = x;
  }
  return x;
}

static void *worker(void *seed) {
  uint64_t *w = calloc(WORDS, sizeof *w), x = work(w, (uintptr_t)seed);
  pthread_mutex_lock(&lock);
  total += x | 1;
  pthread_mutex_unlock(&lock);
  free(w);
  return 0;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, worker, (void *)3);
  pthread_create(&b, 0, worker, (void *)5);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return total == 0;
}
