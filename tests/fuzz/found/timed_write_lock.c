/* options:
 * A writer whose time is over could have come before a reader only if no other reader was in its way. */
#include "program.h"

static void *writes(void *arg) {
  BODY(1);
  pthread_mutex_lock(&mutex[0]);
  SEE(pthread_rwlock_timedwrlock(&rwlock, in(1)));
  if (r == 0) {
    SEE(++shared);
    pthread_rwlock_unlock(&rwlock);
  }
  pthread_mutex_unlock(&mutex[0]);
  return arg;
}

static void *reads(void *arg) {
  BODY(2);
  pthread_rwlock_rdlock(&rwlock);
  pthread_mutex_lock(&mutex[0]);
  pthread_mutex_unlock(&mutex[0]);
  pthread_rwlock_unlock(&rwlock);
  return arg;
}

int main(void) {
  BODY(0);
  pthread_t a, b;
  pthread_create(&a, NULL, writes, NULL);
  pthread_create(&b, NULL, reads, NULL);
  pthread_rwlock_rdlock(&rwlock);
  SEE(shared);
  pthread_rwlock_unlock(&rwlock);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
