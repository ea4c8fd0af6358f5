/* options: --ignore data-race
 * Loops become known while several workers run: what an execution of the search before adds to its tree must not reach the
 * next one's. */
#include "program.h"

static void *counts(void *arg) {
  BODY(1);
  SEE(size_of(file));
  while (pthread_mutex_trylock(&mutex[1])) continue;
  SEE(guarded[1]++);
  pthread_mutex_unlock(&mutex[1]);
  return arg;
}

static void *adds(void *arg) {
  BODY(2);
  while (pthread_mutex_trylock(&mutex[1])) continue;
  SEE(guarded[1]++);
  pthread_mutex_unlock(&mutex[1]);
  return arg;
}

int main(void) {
  pthread_t a, b;
  prepare();
  pthread_create(&a, NULL, counts, NULL);
  pthread_create(&b, NULL, adds, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
