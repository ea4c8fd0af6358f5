/* options:
 * Two threads lock a file by one description, which a third request excludes: while one of them has a lock, the other one's
 * request gives that up and can go on, in between it cannot. */
#include "program.h"

static void *converts(void *arg) {
  BODY(2);
  SEE(flock(locked[0], LOCK_SH));
  SEE(flock(locked[1], LOCK_SH | LOCK_NB));
  flock(locked[1], LOCK_UN);
  flock(locked[0], LOCK_UN);
  return arg;
}

static void *waits(void *arg) {
  BODY(3);
  SEE(flock(locked[1], LOCK_EX));
  flock(locked[1], LOCK_UN);
  return arg;
}

int main(void) {
  pthread_t t[2];
  prepare_only(NEEDS_FILE);
  pthread_create(&t[0], 0, converts, 0);
  pthread_create(&t[1], 0, waits, 0);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  return 0;
}
