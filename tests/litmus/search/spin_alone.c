// A lone thread that waits by reading waits forever, whether it was always alone or is the last one.
// expect: kind=livelock
// argv: 1
// expect: kind=livelock
#include "litmus.h"

int flag; /* not static: the compiler would know that nobody sets it */

static void *nothing(void *arg) { return arg; }

int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1) {
    pthread_t t;
    pthread_create(&t, NULL, nothing, NULL);
    pthread_join(t, NULL);
  }
  while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) continue;
  return 0;
}
