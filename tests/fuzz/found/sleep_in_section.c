/* options:
 * A sleep in an atomic section lets others go; its end cannot come before theirs. */
#include "program.h"

static void *section(void *arg) {
  BODY(1);
  hd_atomic_begin();
  SEE(memory[0]++);
  hd_atomic_end();
  return arg;
}

int main(void) {
  BODY(0);
  pthread_t a;
  pthread_create(&a, NULL, section, NULL);
  hd_atomic_begin();
  SEE(memory[0]++);
  usleep(3);
  SEE(memory[0]++);
  hd_atomic_end();
  pthread_join(a, NULL);
  return 0;
}
