/* options:
 * How often a loop comes round before it is known to wait must not depend on what lay on the stack. */
#include "program.h"

static void *spins(void *arg) {
  BODY(1);
  uint64_t was = 1;
  SEE(__atomic_compare_exchange_n(AT(uint64_t, 0), &was, 1, 0, SEQ_CST, SEQ_CST));
  while (__atomic_load_n(AT(uint32_t, 0), ACQUIRE) == 0) continue;
  return arg;
}

int main(void) {
  pthread_t a;
  pthread_create(&a, NULL, spins, NULL);
  pthread_join(a, NULL);
  return 0;
}
