/* buffer.c: a bounded buffer with condition variables, two producers and two consumers. */
#include <assert.h>
#include <pthread.h>

enum { SIZE = 2, EACH = 2 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int item[SIZE], n, in, out, sum;

static void put(int v) {
  pthread_mutex_lock(&lock);
  while (n == SIZE) pthread_cond_wait(&not_full, &lock);
  item[in] = v;
  in = (in + 1) % SIZE;
  n++;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

static int get(void) {
  pthread_mutex_lock(&lock);
  while (n == 0) pthread_cond_wait(&not_empty, &lock);
  int v = item[out];
  out = (out + 1) % SIZE;
  n--;
  sum += v;
  pthread_cond_signal(&not_full);
  pthread_mutex_unlock(&lock);
  return v;
}

static void *producer(void *p) {
  for (int i = 1; i <= EACH; i++) put(i);
  return p;
}

static void *consumer(void *p) {
  for (int i = 1; i <= EACH; i++) assert(get() > 0);
  return p;
}

int main(void) {
  pthread_t t[4];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, producer, 0);
  for (int i = 0; i < 2; i++) pthread_create(&t[2 + i], 0, consumer, 0);
  for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
  assert(sum == 6 && n == 0);
}
