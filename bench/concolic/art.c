/* art.c: THREADS threads each add a power of ten nine times to one sum. It becomes all nines only when no thread undoes
 * what another did: each but the first has to read the sum of another one. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 2
#endif
#define NINES (THREADS == 2 ? 99 : THREADS == 3 ? 999 : THREADS == 4 ? 9999 : 99999)

static _Atomic int sum;

static void *add(void *unused) {
  (void)unused;
  int power = 1;
  long i = hd_input_range(0, 5, "i");
  for (long k = 0; k < i; k++) power *= 10;
  for (int k = 0; k < 9; k++) sum = sum + power;
  assert(sum != NINES);
  return NULL;
}

int main(void) {
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, add, NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  return 0;
}
