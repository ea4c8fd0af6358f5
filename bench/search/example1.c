/* example1.c N [CHECK]: two threads change one number under a lock, ceil(N/5) and ceil(N/2) times: of a and
 * b critical sections there are C(a+b, a) orders, which no stateless search finishes at the N of 64 in the
 * original (7.3e10). The assertion of the original fails from N = 11 on, and only in some orders; CHECK 0
 * leaves it out, to count. Yang (2009), figure 4.1.
 *
 * count: 10 strategy=optimal executions=21
 * count: 20 0 strategy=optimal executions=1001
 * count: 30 0 strategy=optimal executions=54264
 * states: 64 0 begun=450
 * clean: 10
 * bug: 15 kind=assertion
 * bug: 64 kind=assertion */
#include "sizes.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int d, n, check;

/* Not inlined: a copy of d that is left in a register, where nothing reads it, would count as state. */
static __attribute__((noinline)) void change(int by) {
  pthread_mutex_lock(&lock);
  d += by;
  if (check) assert(d % 5 != 4);
  pthread_mutex_unlock(&lock);
}

static void *up(void *unused) {
  for (int i = 0; i < n; i += 5) change(i);
  return unused;
}

static void *down(void *unused) {
  for (int j = 0; j < n; j += 2) change(-j);
  return unused;
}

MAIN {
  n = SIZE(1, 64);
  check = SIZE(2, 1);
  start(up, 0);
  start(down, 1);
  join_all();
  return 0;
}
