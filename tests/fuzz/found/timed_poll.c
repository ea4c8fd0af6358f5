/* options: --ignore data-race
 * What a poll with a time limit was ready for is taken by another thread before it runs: then it times out. */
#include "program.h"

static void *polls(void *arg) {
  BODY(1);
  SEE(ready(channel[0], 5));
  return 0;
}

static void *takes(void *arg) {
  BODY(2);
  SEE(write(channel[1], "abcd", 1));
  SEE(take(channel[0], 1));
  return 0;
}

int main(void) {
  pthread_t t[2];
  prepare();
  pthread_create(&t[0], 0, polls, 0);
  pthread_create(&t[1], 0, takes, 0);
  pthread_join(t[0], 0);
  pthread_join(t[1], 0);
  return 0;
}
