/* options:
 * A number is replaced while its use is pending in another thread, or before that thread comes to it: all the same. */
#include "program.h"

static void *replaces(void *arg) {
  BODY(1);
  SEE(dup2(file, spare) == spare);
  return arg;
}

int main(void) {
  pthread_t a;
  prepare();
  BODY(0);
  pthread_create(&a, NULL, replaces, NULL);
  SEE(pthread_mutex_lock(&mutex[0]));
  SEE(write(spare, "f", 1));
  pthread_mutex_unlock(&mutex[0]);
  pthread_join(a, NULL);
  return 0;
}
