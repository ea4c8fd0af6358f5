/* mutual.c: one interference, three context switches: a value is seen only while another thread is in the middle of a
 * sequence of writes. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

static _Atomic int turn, started, g, done;

static void *counter(void *unused) {
  (void)unused;
  if (turn == 2) return NULL;
  started = 1;
  for (int i = 0; i < 20; i++) g = i;
  done = 1;
  return NULL;
}

static void *reader(void *unused) {
  (void)unused;
  int want;
  hd_input(&want, sizeof want, "want");
  if (turn == 1) return NULL;
  assert(!(want > 15 && g == want));
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, counter, NULL);
  pthread_create(&b, NULL, reader, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
