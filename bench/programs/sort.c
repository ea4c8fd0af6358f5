/* sort.c: a parallel sort. Four threads read the same input; each takes the numbers of its range into an array
 * of its own and sorts it by merging; the pieces one after the other are the result.
 *   sort N      numbers */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static uint32_t *input;
static long n;
static struct {
  uint32_t *v;
  long count;
} piece[THREADS];

static void merge(const uint32_t *a, long na, const uint32_t *b, long nb, uint32_t *out) {
  while (na && nb) {
    if (*a <= *b)
      *out++ = *a++, na--;
    else
      *out++ = *b++, nb--;
  }
  while (na--) *out++ = *a++;
  while (nb--) *out++ = *b++;
}

static void *worker(void *arg) {
  uint32_t me = (uint32_t)(uintptr_t)arg;
  long count = 0;
  for (long i = 0; i < n; i++) count += input[i] >> 30 == me;
  uint32_t *v = malloc((size_t)count * sizeof *v), *w = malloc((size_t)count * sizeof *w);
  long k = 0;
  for (long i = 0; i < n; i++)
    if (input[i] >> 30 == me) v[k++] = input[i];
  for (long run = 1; run < count; run *= 2) {
    for (long i = 0; i < count; i += 2 * run) {
      long na = count - i < run ? count - i : run, left = count - i - na, nb = left < run ? left : run;
      merge(v + i, na, v + i + na, nb, w + i);
    }
    uint32_t *t = v;
    v = w;
    w = t;
  }
  free(w);
  piece[me].v = v;
  piece[me].count = count;
  return 0;
}

int main(int argc, char **argv) {
  n = argc > 1 ? atol(argv[1]) : 200000;
  input = malloc((size_t)n * sizeof *input);
  uint64_t r = 99;
  for (long i = 0; i < n; i++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    input[i] = (uint32_t)(r >> 32);
  }
  pthread_t t[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) pthread_create(&t[i], 0, worker, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  uint64_t hash = 0;
  uint32_t last = 0;
  for (int i = 0; i < THREADS; i++)
    for (long k = 0; k < piece[i].count; k++) {
      if (piece[i].v[k] < last) return 1;
      last = piece[i].v[k];
      hash = (hash ^ last) * 0x9e3779b97f4a7c15u;
    }
  printf("sort %016llx\n", (unsigned long long)hash);
  return 0;
}
