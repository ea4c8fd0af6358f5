/* options:
 * Signals to threads that compare and swap: several workers give executions up before a swap that is to be reversed was
 * executed. What it finds is known from what others have read. */
#include "program.h"

static void *swaps(void *arg) {
  TWIN(1);
  uint16_t was = 0;
  int won = __atomic_compare_exchange_n(AT(uint16_t, 0), &was, 3, 0, ACQUIRE, RELAXED);
  SEE(won ? 1 : 2 + was);
  return arg;
}

int main(void) {
  pthread_t thread[3];
  prepare();
  for (int i = 0; i < 3; i++) pthread_create(&thread[i], 0, swaps, 0);
  pthread_join(thread[0], 0);
  for (int i = 1; i < 3; i++) pthread_kill(thread[i], SIGUSR1);
  for (int i = 1; i < 3; i++) pthread_join(thread[i], 0);
  return 0;
}
