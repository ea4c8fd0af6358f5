/* reorder.c SETTERS CHECKERS: a setter sets a, then b; a checker expects both or neither. It fails when one
 * setter has set a and none has set b yet, so every setter that has begun must be stopped in the middle: the
 * more setters, the rarer. Reorder of Rungta (2009), table 5.1 (hard from 9 setters on).
 *
 * count: 1 1 strategy=optimal executions=4 findings=assertion
 * count: 2 1 strategy=optimal executions=56 findings=assertion
 * bug: 1 1 kind=assertion
 * bug: 2 1 kind=assertion
 * bug: 10 1 kind=assertion */
#include "sizes.h"

static atomic_int a, b;

static void *setter(void *unused) {
  poke(a, 1);
  poke(b, -1);
  return unused;
}

static void *checker(void *unused) {
  assert((peek(a) == 0 && peek(b) == 0) || (peek(a) == 1 && peek(b) == -1));
  return unused;
}

MAIN {
  int setters = SIZE(1, 10), checkers = SIZE(2, 1);
  for (int i = 0; i < setters; i++) start(setter, i);
  for (int i = 0; i < checkers; i++) start(checker, i);
  join_all();
  return 0;
}
