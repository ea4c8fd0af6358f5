/* sor.c: two threads relax the halves of a grid, two sweeps each, and tell each other when they are done. The upper one reads the
 * border of the lower one before and after it writes its own row, without waiting in between. */
#include <assert.h>
#include <heddle.h>
#include <pthread.h>

static _Atomic int upper_row = 1, lower_row = 1, sweeps;
static volatile int crossed;

static void *upper(void *unused) {
  (void)unused;
  int before = lower_row;
  upper_row = before + 1;
  int after = lower_row;
  if (sweeps == 2 && before == 2) { /* the other one was between its sweeps, and is done */
    assert(after != 3);             /* the border changed while the row was made */
    if (after == 5) crossed = 1;    /* the other one's border was ours */
  }
  return NULL;
}

static void *lower(void *unused) {
  (void)unused;
  for (int n = 1; n <= 2; n++) {
    lower_row = n == 1 ? 2 : 2 + upper_row;
    sweeps = n;
  }
  return NULL;
}

int main(void) {
  pthread_t a, b;
  pthread_create(&a, NULL, upper, NULL);
  pthread_create(&b, NULL, lower, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
