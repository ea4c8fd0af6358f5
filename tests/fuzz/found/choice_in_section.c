/* options:
 * Another outcome of a choice in an atomic section, when somebody else has made another choice meanwhile. */
#include "program.h"

static void *two(void *arg) {
  BODY(1);
  hd_atomic_begin();
  SEE(hd_choose(2));
  hd_atomic_end();
  SEE(hd_choose(2));
  return arg;
}

static void *one(void *arg) {
  BODY(2);
  hd_atomic_begin();
  SEE(hd_choose(2));
  hd_atomic_end();
  return arg;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, two, NULL);
  pthread_create(&b, NULL, one, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
