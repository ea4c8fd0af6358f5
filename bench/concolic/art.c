/* art.c: THREADS threads each add a power of ten nine times to one sum. The n-th fails if it becomes n nines: it has to read what
 * another one has made of it, which has to have read what a third one made of it, and so on. No thread may undo that. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

#ifndef THREADS
#define THREADS 2
#endif

static const int power[6] = {1, 10, 100, 1000, 10000, 100000};
static _Atomic int sum;

#define ADDS(n, nines)                                      \
  static void *add##n(void *unused) {                       \
    unsigned i;                                             \
    (void)unused;                                           \
    hd_input(&i, sizeof i, "i");                            \
    if (i > 5) return NULL;                                 \
    for (int k = 0; k < 9; k++) sum = sum + power[i];       \
    assert(sum != nines);                                   \
    return NULL;                                            \
  }

ADDS(1, 9)
ADDS(2, 99)
ADDS(3, 999)
ADDS(4, 9999)
ADDS(5, 99999)

int main(void) {
  void *(*const all[])(void *) = {add1, add2, add3, add4, add5};
  pthread_t t[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&t[i], NULL, all[i], NULL);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  return 0;
}
