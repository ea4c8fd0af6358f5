/* options:
 * Two read a byte, one of them is cancelled by the other, who has it: had it come first, the other would wait. */
#include "program.h"

static void *writes(void *arg) {
  BODY(1);
  SEE(write(channel[1], "a", 1));
  SEE(__atomic_load_n(AT(uint32_t, 0), ACQUIRE));
  return arg;
}

static void *reads(void *arg) {
  BODY(2);
  __atomic_store_n(AT(uint32_t, 0), 2, RELAXED);
  SEE(take(channel[0], 1));
  return arg;
}

int main(void) {
  BODY(0);
  pthread_t a, b;
  prepare();
  pthread_create(&a, NULL, writes, NULL);
  pthread_create(&b, NULL, reads, NULL);
  SEE(take(channel[0], 1));
  pthread_cancel(b);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
