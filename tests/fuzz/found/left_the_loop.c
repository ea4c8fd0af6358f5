/* options:
 * What a thread reads after a loop that waits is not what the loop waits for, although no other round has begun. */
#include "program.h"

static void *waits(void *arg) {
  BODY(1);
  while (pthread_mutex_trylock(&mutex[0])) continue;
  SEE(guarded[0]);
  pthread_mutex_unlock(&mutex[0]);
  return arg;
}

static void *writes(void *arg) {
  BODY(2);
  pthread_mutex_lock(&mutex[0]);
  guarded[0] = 2;
  pthread_mutex_unlock(&mutex[0]);
  return arg;
}

int main(void) {
  pthread_t a, b;
  prepare();
  pthread_create(&a, NULL, waits, NULL);
  pthread_create(&b, NULL, writes, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
