/* queue.c: a bounded queue of jobs behind one lock and two condition variables; one thread fills it, three
 * take jobs, compute on the job's own buffer, and add the result under a second lock.
 *   queue JOBS */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define WORKERS 3
#define SLOTS 16
#define WORDS 64
#define ROUNDS 16

struct job {
  uint64_t word[WORDS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, total_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static struct job *slot[SLOTS];
static unsigned head, used;
static int closed;
static uint64_t total;
static long jobs;

static void put(struct job *j) {
  pthread_mutex_lock(&lock);
  while (used == SLOTS) pthread_cond_wait(&not_full, &lock);
  slot[(head + used++) % SLOTS] = j;
  pthread_cond_signal(&not_empty);
  pthread_mutex_unlock(&lock);
}

static struct job *take(void) {
  struct job *j = 0;
  pthread_mutex_lock(&lock);
  while (!used && !closed) pthread_cond_wait(&not_empty, &lock);
  if (used) {
    j = slot[head];
    head = (head + 1) % SLOTS;
    used--;
    pthread_cond_signal(&not_full);
  }
  pthread_mutex_unlock(&lock);
  return j;
}

static uint64_t compute(struct job *j) {
  uint64_t x = 1;
  for (int r = 0; r < ROUNDS; r++)
    for (int i = 0; i < WORDS; i++) {
      x = (x ^ j->word[i]) * 0x9e3779b97f4a7c15u;
      j->word[i] = x >> 7;
    }
  return x;
}

static void *worker(void *unused) {
  struct job *j;
  while ((j = take())) {
    uint64_t x = compute(j);
    free(j);
    pthread_mutex_lock(&total_lock);
    total += x;
    pthread_mutex_unlock(&total_lock);
  }
  return unused;
}

static void *producer(void *unused) {
  for (long i = 0; i < jobs; i++) {
    struct job *j = malloc(sizeof *j);
    for (int k = 0; k < WORDS; k++) j->word[k] = (uint64_t)(i * WORDS + k);
    put(j);
  }
  pthread_mutex_lock(&lock);
  closed = 1;
  pthread_cond_broadcast(&not_empty);
  pthread_mutex_unlock(&lock);
  return unused;
}

int main(int argc, char **argv) {
  jobs = argc > 1 ? atol(argv[1]) : 4000;
  pthread_t t[WORKERS + 1];
  for (int i = 0; i <= WORKERS; i++) pthread_create(&t[i], 0, i ? worker : producer, 0);
  for (int i = 0; i <= WORKERS; i++) pthread_join(t[i], 0);
  printf("queue %016llx\n", (unsigned long long)total);
  return 0;
}
