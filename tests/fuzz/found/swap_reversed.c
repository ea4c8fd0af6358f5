/* options:
 * A compare-and-swap that fails leaves the load of another thread independent; where it wins it does not. */
#include "program.h"

static void *loads(void *arg) {
  BODY(1);
  SEE(__atomic_load_n(AT(uint32_t, 4), __ATOMIC_ACQUIRE));
  return arg;
}

static void *stores(void *arg) {
  BODY(2);
  __atomic_store_n(AT(uint16_t, 0), 2, __ATOMIC_RELEASE);
  return arg;
}

int main(void) {
  pthread_t a, b;
  uint64_t was = 0;
  prepare();
  BODY(0);
  pthread_create(&a, NULL, loads, NULL);
  pthread_create(&b, NULL, stores, NULL);
  SEE(__atomic_compare_exchange_n(AT(uint64_t, 0), &was, 1ull << 32 | 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  __atomic_store_n(AT(uint16_t, 4), 2, __ATOMIC_RELAXED);
  pthread_join(b, NULL);
  pthread_join(a, NULL);
  return 0;
}
