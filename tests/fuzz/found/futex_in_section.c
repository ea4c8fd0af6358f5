/* options:
 * A wait at a futex in an atomic section: whoever wakes it depends on it, not on the section. */
#include "program.h"

static void *waits(void *arg) {
  BODY(1);
  hd_atomic_begin();
  SEE(syscall(SYS_futex, AT(uint32_t, 8), FUTEX_WAIT_PRIVATE, 0, 0) == 0);
  hd_atomic_end();
  return arg;
}

static void *nothing(void *arg) { return arg; }

int main(void) {
  BODY(0);
  pthread_t a, b;
  pthread_create(&a, NULL, waits, NULL);
  pthread_create(&b, NULL, nothing, NULL);
  __atomic_store_n(AT(uint32_t, 8), 1, RELEASE);
  SEE(syscall(SYS_futex, AT(uint32_t, 8), FUTEX_WAKE_PRIVATE, 1));
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
