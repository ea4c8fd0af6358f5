/* airline.c TICKETS CUSHION: main opens one selling post after the other until a post says that the plane,
 * which has TICKETS - CUSHION seats, is overbooked. A post counts its ticket and compares in separate steps,
 * so main can open too many. With CUSHION 1 all posts must have sold, and no two at once, before main looks
 * again. Airline of Rungta (2009), table 5.3 (hard from 20, 3 down).
 *
 * count: 1 1 strategy=optimal executions=2 findings=assertion
 * count: 2 1 strategy=optimal executions=30 findings=assertion
 * bug: 4 1 kind=assertion
 * bug: 6 2 kind=assertion
 * bug: 20 8 kind=assertion
 * bug: 20 3 kind=assertion
 * bug: 20 1 kind=assertion */
#include "sizes.h"

static atomic_int sold, stop;
static int capacity;

static void *post(void *unused) {
  bump(sold);
  if (peek(sold) > capacity) poke(stop, 1);
  return unused;
}

MAIN {
  int tickets = SIZE(1, 20);
  capacity = tickets - SIZE(2, 1);
  for (int i = 0; i < tickets; i++) {
    if (peek(stop)) {
      poke(sold, peek(sold) - 1);
      break;
    }
    start(post, i);
  }
  assert(peek(sold) <= capacity);
  join_all();
  return 0;
}
