/* safestack.c ROUNDS [THREADS]: a stack of free array elements without locks. A pop marks the element at the head as
 * taken by exchanging its link, and keeps off the last element by a count. Threads that are stopped in the middle of
 * a pop restore a link that is out of date, so that in the end two threads hold one element: that takes three
 * threads and five preemptions. Vyukov's challenge to the authors of CHESS (2010); in SCTBench (Thomson, Donaldson,
 * Betts, PPoPP 2014, where no technique finds it) with 4 rounds.
 *
 * bug: 4 kind=assertion seconds=120 */
#include "sizes.h"

#define TAKEN (-1)

static struct {
  atomic_int owner, next;
} element[MAX_THREADS];
static atomic_int head, count;
static int rounds;

/* The number of an element, or TAKEN when there is none to spare. */
static int pop(void) {
  while (atomic_load(&count) > 1) {
    int top = atomic_load(&head), below = atomic_exchange(&element[top].next, TAKEN);
    if (below == TAKEN) continue;
    int expected = top;
    if (atomic_compare_exchange_strong(&head, &expected, below)) {
      atomic_fetch_sub(&count, 1);
      return top;
    }
    atomic_exchange(&element[top].next, below);
  }
  return TAKEN;
}

static void push(int i) {
  int top = atomic_load(&head);
  do atomic_store(&element[i].next, top);
  while (!atomic_compare_exchange_strong(&head, &top, i));
  atomic_fetch_add(&count, 1);
}

static void *use(void *number) {
  int self = (int)(intptr_t)number;
  for (int round = 0; round < rounds; round++) {
    int mine;
    while ((mine = pop()) == TAKEN) {}
    poke(element[mine].owner, self);
    assert(peek(element[mine].owner) == self);
    push(mine);
  }
  return 0;
}

MAIN {
  rounds = SIZE(1, 4);
  int n = SIZE(2, 3);
  for (int i = 0; i < n; i++) poke(element[i].next, i + 1 < n ? i + 1 : TAKEN);
  poke(count, n);
  for (int i = 0; i < n; i++) start(use, i);
  join_all();
  return 0;
}
