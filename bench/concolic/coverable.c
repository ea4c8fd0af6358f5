/* coverable.c: a branch that neither thread reaches alone, and no schedule reaches with inputs of 0 or 1. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

static _Atomic int x, y;

static void *one(void *unused) {
  (void)unused;
  x = 1;
  assert(x <= 1);
  return NULL;
}

static void *two(void *unused) {
  (void)unused;
  int input;
  hd_input(&input, sizeof input, "input");
  x = 0;
  if (input > 0) x = input;
  y = x;
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, one, NULL);
  pthread_create(&b, NULL, two, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
