// A time limit that ended early stays so when another thread starts to wait for input meanwhile.
// expect: exact executions=1
// args: --timeouts=any
#include <poll.h>
#include <sys/eventfd.h>

#include "litmus.h"

static int counter;

static void *reader(void *arg) {
  uint64_t n;
  assert(read(counter, &n, sizeof n) == sizeof n);
  return arg;
}

int main(void) {
  int silent[2];
  uint64_t one = 1;
  pthread_t t;
  assert(pipe(silent) == 0);
  counter = eventfd(0, 0);
  pthread_create(&t, NULL, reader, NULL);
  struct pollfd p = {silent[0], POLLIN, 0};
  assert(poll(&p, 1, 5) == 0);
  assert(write(counter, &one, sizeof one) == sizeof one);
  pthread_join(t, NULL);
  return 0;
}
