/* options: --ignore data-race
 * Both orders of two closes have the same operations, whichever was pending first. */
#include "program.h"

static void *one(void *arg) {
  BODY(1);
  SEE(close(spare));
  return 0;
}

int main(void) {
  BODY(0);
  pthread_t t[2];
  prepare();
  pthread_create(&t[0], 0, one, 0);
  SEE(close(spare));
  pthread_join(t[0], 0);
  return 0;
}
