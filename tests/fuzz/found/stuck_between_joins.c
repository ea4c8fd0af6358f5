/* options:
 * One of two threads alike never ends. Which of them main waits for is no part of the final state. */
#include "program.h"

static void *takes(void *arg) {
  TWIN(1);
  sem_wait(&semaphore[0]);
  SEE(__atomic_fetch_add(AT(uint32_t, 0), 1, SEQ_CST));
  return arg;
}

int main(void) {
  pthread_t a, b;
  BODY(0);
  prepare();
  pthread_create(&a, NULL, takes, NULL);
  pthread_create(&b, NULL, takes, NULL);
  int joins = !pthread_join(a, NULL);
  joins += !pthread_join(b, NULL);
  SEE(joins);
  return 0;
}
