/* options:
 * The same wait twice, with a store in between to memory that nobody else has: the first may end by itself. */
#include "program.h"

static void *waits(void *arg) {
  BODY(1);
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&mutex[1]);
    if (!flag[1]) pthread_cond_wait(&cond[1], &mutex[1]);
    guarded[1] = 3;
    pthread_mutex_unlock(&mutex[1]);
  }
  SEE(1);
  END;
  return arg;
}

int main(int argc, char **argv) {
  BODY(0);
  pthread_t thread[2];
  quiet = argc > 2;
  prepare();
  for (int i = 0; i < 2; i++) pthread_create(&thread[i], 0, waits, 0);
  pthread_join(thread[0], 0);
  SEE(2);
  END;
  return 0;
}
