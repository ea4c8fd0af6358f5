/* options:
 * A thread allocates a block before another one frees one of that size, but nothing orders the two: in the other order an
 * ordinary heap may return the same address. Whether that is noted does not depend on the order. */
#include "program.h"

static void *replaces(void *arg) {
  uint32_t *p = malloc(8);
  *p = 2;
  free(__atomic_exchange_n(&heap[0], p, __ATOMIC_ACQ_REL));
  return arg;
}

int main(void) {
  pthread_t t[3];
  prepare();
  BODY(0);
  for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, replaces, NULL);
  SEE(__atomic_load_n(&heap[0], __ATOMIC_ACQUIRE) != NULL);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  return 0;
}
