/* options: --ignore data-race
 * A file is closed before another thread locks it: then nothing is released, but the order matters. */
#include "program.h"

static void *one(void *arg) {
  BODY(1);
  SEE(close(spare));
  return 0;
}

static void *other(void *arg) {
  BODY(2);
  SEE(flock(locked[1], LOCK_EX | LOCK_NB));
  flock(locked[1], LOCK_UN);
  return 0;
}

int main(void) {
  BODY(0);
  pthread_t t[2];
  prepare();
  pthread_create(&t[0], 0, one, 0);
  pthread_create(&t[1], 0, other, 0);
  pthread_join(t[0], 0);
  return 0;
}
