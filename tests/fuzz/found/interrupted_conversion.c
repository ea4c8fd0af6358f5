/* options:
 * A signal comes while flock waits to change the kind of its lock: it has lost the old one already. */
#include "program.h"

static void *converts(void *arg) {
  BODY(1);
  SEE(flock(locked[1], LOCK_SH));
  SEE(flock(locked[1], LOCK_EX));
  flock(locked[1], LOCK_UN);
  return arg;
}

static void *blocks(void *arg) {
  BODY(2);
  SEE(flock(locked[0], LOCK_SH));
  return arg;
}

int main(void) {
  pthread_t a, b;
  prepare();
  interrupt_calls();
  pthread_create(&a, NULL, converts, NULL);
  pthread_create(&b, NULL, blocks, NULL);
  pthread_kill(a, SIGUSR1);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
