/* locks.c: THREADS threads take one lock PAIRS times each; compiled with -DTHREADS= and -DPAIRS=.
 * Two threads and 4 pairs are the program of about 25 events that the bars are stated for. */
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *worker(void *unused) {
  for (int i = 0; i < PAIRS; i++) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
  }
  return unused;
}

int main(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  return count != THREADS * PAIRS;
}
