/* options: --spurious
 * A waiter that has woken up by itself is not woken by a broadcast. */
#include "program.h"

static void *waits(void *arg) {
  BODY(1);
  pthread_mutex_lock(&mutex[0]);
  for (int i = 0; i < 2 && !flag[0]; i++) pthread_cond_wait(&cond[0], &mutex[0]);
  pthread_mutex_unlock(&mutex[0]);
  return arg;
}

static void *wakes(void *arg) {
  BODY(2);
  pthread_mutex_lock(&mutex[0]);
  pthread_mutex_unlock(&mutex[0]);
  pthread_cond_broadcast(&cond[0]);
  return arg;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, waits, NULL);
  pthread_create(&b, NULL, wakes, NULL);
  pthread_join(a, NULL);
  return 0;
}
