/* pool.c: a pool of resources behind a semaphore and a lock, and a barrier at the start. */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

enum { RESOURCES = 2, THREADS = 3 };
static sem_t free_ones;
static pthread_barrier_t start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int used[RESOURCES], in_use, uses;

static int acquire(void) {
  int r = 0;
  sem_wait(&free_ones);
  pthread_mutex_lock(&lock);
  while (r < RESOURCES && used[r]) r++;
  assert(r < RESOURCES);
  used[r] = 1;
  in_use++;
  pthread_mutex_unlock(&lock);
  return r;
}

static void release(int r) {
  pthread_mutex_lock(&lock);
  assert(used[r]);
  used[r] = 0;
  in_use--;
  uses++;
  pthread_mutex_unlock(&lock);
  sem_post(&free_ones);
}

static void *worker(void *p) {
  pthread_barrier_wait(&start);
  int r = acquire();
  release(r);
  return p;
}

int main(void) {
  pthread_t t[THREADS];
  sem_init(&free_ones, 0, RESOURCES);
  pthread_barrier_init(&start, 0, THREADS);
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], 0, worker, 0);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  assert(in_use == 0 && uses == THREADS);
}
