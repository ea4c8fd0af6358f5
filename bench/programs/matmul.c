/* matmul.c: two matrices multiplied by four threads; the factors are shared and only read.
 *   matmul N     rows and columns */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static long n;
static double *a, *b, *c;

static void *rows(void *arg) {
  long first = (long)arg * n / THREADS, last = ((long)arg + 1) * n / THREADS;
  for (long i = first; i < last; i++)
    for (long j = 0; j < n; j++) {
      double s = 0;
      for (long k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j];
      c[i * n + j] = s;
    }
  return 0;
}

int main(int argc, char **argv) {
  n = argc > 1 ? atol(argv[1]) : 192;
  size_t size = (size_t)(n * n);
  a = malloc(size * sizeof *a);
  b = malloc(size * sizeof *b);
  c = malloc(size * sizeof *c);
  unsigned long r = 42;
  for (size_t i = 0; i < size; i++) {
    r = r * 6364136223846793005u + 1442695040888963407u;
    a[i] = (double)(r >> 40) / 1e6;
    b[i] = (double)(r >> 44) / 1e5;
  }
  pthread_t t[THREADS];
  for (long i = 0; i < THREADS; i++) pthread_create(&t[i], 0, rows, (void *)i);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], 0);
  double sum = 0;
  for (size_t i = 0; i < size; i++) sum += c[i] * (double)(i % 7);
  printf("matmul %.6e\n", sum);
  return 0;
}
