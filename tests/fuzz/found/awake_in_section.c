/* options:
 * Two sleeps end at about the same time, one of them in an atomic section: it does not end before time has passed. */
#include "program.h"

static void *locks(void *arg) {
  BODY(1);
  pthread_mutex_lock(&mutex[1]);
  pthread_mutex_unlock(&mutex[1]);
  usleep(2);
  return arg;
}

static void *sleeps(void *arg) {
  BODY(2);
  hd_atomic_begin();
  usleep(3);
  hd_atomic_end();
  return arg;
}

int main(void) {
  pthread_t thread[2];
  prepare();
  pthread_create(&thread[0], 0, locks, 0);
  pthread_create(&thread[1], 0, sleeps, 0);
  pthread_join(thread[0], 0);
  pthread_join(thread[1], 0);
  return 0;
}
