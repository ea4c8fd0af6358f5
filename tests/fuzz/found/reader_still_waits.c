/* options:
 * A reader that still waits at the end could only have come before the writer, not before a trylock that the writer
 * kept out. */
#include "program.h"

static void *reads(void *arg) {
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  return arg;
}

static void *tries(void *arg) {
  BODY(2);
  SEE(pthread_rwlock_trywrlock(&rwlock));
  if (r == 0) pthread_rwlock_unlock(&rwlock);
  return (void *)r;
}

int main(void) {
  BODY(0);
  pthread_t a, b;
  pthread_create(&a, NULL, reads, NULL);
  pthread_create(&b, NULL, tries, NULL);
  SEE(pthread_rwlock_trywrlock(&rwlock));
  if (r == 0) pthread_rwlock_unlock(&rwlock);
  return 0;
}
