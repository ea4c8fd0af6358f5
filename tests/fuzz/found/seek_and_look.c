/* options: --ignore data-race
 * A seek and a look at the size do not conflict, so they order nothing either. */
#include "program.h"

static void *one(void *arg) {
  BODY(1);
  SEE(__atomic_load_n(AT(uint32_t, 0), ACQUIRE));
  SEE(lseek(file, 0, SEEK_CUR));
  return 0;
}

static void *other(void *arg) {
  BODY(2);
  SEE(size_of(file));
  SEE(__atomic_fetch_and(AT(uint32_t, 0), 1, ACQUIRE));
  return 0;
}

int main(void) {
  BODY(0);
  pthread_t t[2];
  prepare();
  pthread_create(&t[0], 0, one, 0);
  pthread_create(&t[1], 0, other, 0);
  SEE(lseek(file, 0, SEEK_CUR));
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  return 0;
}
