/* options:
 * A thread in atomic sections is cancelled: between any two of them. */
#include "program.h"

static void *works(void *arg) {
  BODY(1);
  hd_atomic_begin();
  SEE(syscall(SYS_futex, AT(uint32_t, 8), FUTEX_WAKE_PRIVATE, 1));
  pthread_mutex_lock(&mutex[0]);
  __atomic_store_n(AT(uint32_t, 8), 1, RELEASE);
  SEE(syscall(SYS_futex, AT(uint32_t, 8), FUTEX_WAKE_PRIVATE, 1));
  hd_atomic_end();
  return arg;
}

int main(void) {
  pthread_t a;
  pthread_create(&a, NULL, works, NULL);
  pthread_cancel(a);
  pthread_join(a, NULL);
  return 0;
}
