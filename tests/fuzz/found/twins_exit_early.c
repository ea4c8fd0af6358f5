/* options:
 * Interchangeable threads write to memory that becomes contended with that, and main does not wait for them. */
#include "program.h"

static void *writes(void *arg) {
  __atomic_store_n(AT(uint32_t, 0), 5, __ATOMIC_RELAXED);
  return arg;
}

int main(void) {
  pthread_t a, b;
  prepare();
  pthread_create(&a, NULL, writes, NULL);
  pthread_create(&b, NULL, writes, NULL);
  return 0;
}
