/* options:
 * A thread is woken by one of two, and a third one tries to have the lock that the woken one wants back. */
#include "program.h"

static void *one(void *arg) {
  pthread_cond_signal(&cond[0]);
  return arg;
}

static void *all(void *arg) {
  pthread_cond_broadcast(&cond[0]);
  return arg;
}

static void *tries(void *arg) {
  BODY(3);
  SEE(pthread_mutex_trylock(&mutex[0]));
  if (r == 0) pthread_mutex_unlock(&mutex[0]);
  return arg;
}

int main(void) {
  pthread_t t[3];
  pthread_create(&t[0], NULL, one, NULL);
  pthread_create(&t[1], NULL, tries, NULL);
  pthread_create(&t[2], NULL, all, NULL);
  pthread_mutex_lock(&mutex[0]);
  pthread_cond_wait(&cond[0], &mutex[0]);
  pthread_mutex_unlock(&mutex[0]);
  for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
  return 0;
}
