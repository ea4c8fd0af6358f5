/* access.c: plain accesses that are no scheduling points.
 *
 *   access few N            one thread's own 8 words; N times a read and a write
 *   access walk N           its own 8 MiB, N walks from end to end, each word read and written
 *   access random N         its own 256 KiB, N times a random word read and written
 *   access wide N           the same with 32 MiB: beyond the caches
 *   access own N W          N times: take a lock, read and write W words of its own, release the lock
 *   access guarded N W      the same with W words that both threads use, always under the lock
 *   access readonly N       N passes over 1024 words that four threads read and nobody writes
 *
 * Nothing is volatile: what keeps the optimiser from dropping, merging or vectorising the accesses is that
 * each value read goes into a chain of multiplications, that the chain is what is written, and that its end
 * is printed. bench.py counts the hooks in the loops of the compiled program. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define K 0x9e3779b97f4a7c15u
#define WALK (1u << 20)
#define TABLE 1024
#define LOOP __attribute__((noinline)) static uint64_t

static long n, width; /* loops get them as arguments: reading them would be an access */
static uint64_t *common;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

LOOP loop_few(uint64_t *w, long times, uint64_t x) {
  for (long i = 0; i < times; i++) {
    x = (x ^ w[i & 7]) * K;
    w[i & 7] = x;
  }
  return x;
}

LOOP loop_walk(uint64_t *w, uint64_t x) {
  for (long i = 0; i < WALK; i++) {
    x = (x ^ w[i]) * K;
    w[i] = x;
  }
  return x;
}

/* The place does not depend on what was read, so that the native program is not waiting for memory more than
 * it must, and the cost of the hooks has nothing to hide behind. */
LOOP loop_random(uint64_t *w, unsigned bits, long times, uint64_t x) {
  uint64_t r = x;
  for (long i = 0; i < times; i++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    uint64_t k = r >> (64 - bits);
    x = (x ^ w[k]) * K;
    w[k] = x;
  }
  return x;
}

LOOP loop_locked(uint64_t *w, long words, uint64_t x) {
  for (long i = 0; i < words; i++) {
    x = (x ^ w[i]) * K;
    w[i] = x;
  }
  return x;
}

LOOP loop_readonly(const uint64_t *w, uint64_t x) {
  for (long i = 0; i < TABLE; i++) x = (x ^ w[i]) * K;
  return x;
}

static uint64_t *words(size_t count) {
  uint64_t *w = malloc(count * sizeof *w);
  if (!w) abort();
  memset(w, 1, count * sizeof *w);
  return w;
}

static void *few(void *out) {
  *(uint64_t *)out = loop_few(words(8), n, 1);
  return 0;
}

static void *walk(void *out) {
  uint64_t *w = words(WALK), x = 1;
  for (long i = 0; i < n; i++) x = loop_walk(w, x);
  *(uint64_t *)out = x;
  return 0;
}

static void *random_words(void *out) {
  *(uint64_t *)out = loop_random(words(1u << 15), 15, n, 1);
  return 0;
}

static void *wide(void *out) {
  *(uint64_t *)out = loop_random(words(1u << 22), 22, n, 1);
  return 0;
}

static void rounds(uint64_t *w, uint64_t *out) {
  uint64_t x = 1;
  for (long i = 0; i < n; i++) {
    pthread_mutex_lock(&lock);
    x = loop_locked(w, width, x);
    pthread_mutex_unlock(&lock);
  }
  *out = x;
}

static void *own(void *out) {
  rounds(words(1024), out);
  return 0;
}

/* The order in which the two threads come decides the values, so only how often is told. */
static void *guarded(void *out) {
  rounds(common, out);
  *(uint64_t *)out = *(uint64_t *)out != 0;
  return 0;
}

static void *readonly(void *out) {
  uint64_t x = 1;
  for (long i = 0; i < n; i++) x = loop_readonly(common, x);
  *(uint64_t *)out = x;
  return 0;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void *(*f)(void *);
    int threads;
  } mode[] = {{"few", few, 2}, {"walk", walk, 2},       {"random", random_words, 2}, {"wide", wide, 2},
              {"own", own, 2}, {"guarded", guarded, 2}, {"readonly", readonly, 4}};
  if (argc < 3) return 2;
  n = atol(argv[2]);
  width = argc > 3 ? atol(argv[3]) : 0;
  common = words(TABLE);
  for (unsigned m = 0; m < sizeof mode / sizeof *mode; m++) {
    if (strcmp(mode[m].name, argv[1]) != 0) continue;
    pthread_t t[4];
    uint64_t out[4] = {0}, sum = 0;
    for (int i = 0; i < mode[m].threads; i++) pthread_create(&t[i], 0, mode[m].f, &out[i]);
    for (int i = 0; i < mode[m].threads; i++) pthread_join(t[i], 0);
    for (int i = 0; i < mode[m].threads; i++) sum += out[i];
    printf("%s %llx\n", argv[1], (unsigned long long)sum);
    return 0;
  }
  return 2;
}
