/* options: --ignore data-race
 * A call whose descriptor is closed while it is pending learns as much as one that comes later. */
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
  SEE(size_of(spare));
  pthread_join(t[0], 0);
  return 0;
}
