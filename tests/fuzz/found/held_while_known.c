/* options:
 * A state is met again while a thread holds a lock: whoever waits for it comes first, too, on this way there. */
#include "program.h"

static void *ends(void *arg) { return arg; }

static void *locks(void *arg) {
  BODY(2);
  pthread_mutex_lock(&mutex[0]);
  SEE(__atomic_exchange_n(AT(uint32_t, 0), 2, __ATOMIC_SEQ_CST));
  pthread_mutex_unlock(&mutex[0]);
  return arg;
}

int main(void) {
  pthread_t a, b;
  prepare_only(0);
  BODY(0);
  pthread_create(&a, NULL, ends, NULL);
  pthread_create(&b, NULL, locks, NULL);
  pthread_mutex_lock(&mutex[0]);
  SEE(__atomic_exchange_n(AT(uint32_t, 0), 1, __ATOMIC_SEQ_CST));
  usleep(1);
  pthread_mutex_unlock(&mutex[0]);
  pthread_join(b, NULL);
  pthread_join(a, NULL);
  return 0;
}
