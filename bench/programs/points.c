/* points.c: nothing but operations at which Heddle may switch.
 *
 *   points yield THREADS N      N sched_yield() in all, spread over the threads
 *   points rmw THREADS N        N atomic additions to one variable
 *   points load THREADS N       N atomic loads of one variable that is also stored to
 *   points lock THREADS N       N lock/unlock pairs of one lock */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t locked;
static long each;

static void *yields(void *sum) {
  for (long i = 0; i < each; i++) sched_yield();
  *(uint64_t *)sum = (uint64_t)each;
  return 0;
}

static void *additions(void *sum) {
  uint64_t x = 0;
  for (long i = 0; i < each; i++) x |= atomic_fetch_add(&shared, 1);
  *(uint64_t *)sum = x != 0;
  return 0;
}

static void *loads(void *sum) {
  uint64_t x = 0;
  atomic_fetch_add(&shared, 1);
  for (long i = 0; i < each; i++) x += atomic_load(&shared) != 0;
  *(uint64_t *)sum = x;
  return 0;
}

static void *locks(void *sum) {
  for (long i = 0; i < each; i++) {
    pthread_mutex_lock(&lock);
    locked++;
    pthread_mutex_unlock(&lock);
  }
  *(uint64_t *)sum = (uint64_t)each;
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  int threads = atoi(argv[2]);
  each = atol(argv[3]) / threads;
  void *(*f)(void *) = strcmp(argv[1], "rmw") == 0    ? additions
                       : strcmp(argv[1], "load") == 0 ? loads
                       : strcmp(argv[1], "lock") == 0 ? locks
                                                      : yields;
  pthread_t t[64];
  static uint64_t sum[64 * 8];
  uint64_t all = 0;
  for (int i = 0; i < threads; i++) pthread_create(&t[i], 0, f, &sum[i * 8]);
  for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
  for (int i = 0; i < threads; i++) all += sum[i * 8];
  printf("%s %llu\n", argv[1], (unsigned long long)(all + locked + shared));
  return 0;
}
