/* prefix.c STEPS [FIXED]: two threads add to a counter in one step each time, STEPS times in all; then each adds by a
 * read and a write. FIXED 1 adds in one step there, too. What happens before the last additions does not matter.
 *
 * clean: 2 1
 * bug: 2 kind=assertion
 * bug: 10 kind=assertion */
#include "sizes.h"

static atomic_int noise, count;
static int fixed, steps;

static void *adder(void *unused) {
  for (int i = 0; i < steps / 2; i++) atomic_fetch_add(&noise, 1);
  if (fixed) {
    atomic_fetch_add(&count, 1);
  } else {
    bump(count);
  }
  return unused;
}

MAIN {
  steps = SIZE(1, 100);
  fixed = SIZE(2, 0);
  for (int i = 0; i < 2; i++) start(adder, i);
  join_all();
  assert(peek(count) == 2);
  return 0;
}
