/* accountsubtype.c CORRECT INCORRECT: each thread deposits into its own account under that account's lock,
 * then moves money to the next account. A correct one takes the other account's lock for that, an incorrect
 * one does not, so that a deposit made there at the same moment is lost. Accountsubtype of Rungta (2009),
 * appendix B (hard from 8, 1 on).
 *
 * count: 3 0 strategy=optimal executions=19
 * count: 4 0 strategy=optimal executions=65
 * count: 1 1 strategy=optimal executions=11 findings=assertion
 * clean: 2 0
 * clean: 3 0
 * bug: 1 1 kind=assertion
 * bug: 8 1 kind=assertion
 * bug: 20 1 kind=assertion */
#include "sizes.h"

static pthread_mutex_t lock[MAX_THREADS];
static atomic_int balance[MAX_THREADS];
static int accounts, correct;

static void add(int account, int amount, int locked) {
  if (locked) pthread_mutex_lock(&lock[account]);
  poke(balance[account], peek(balance[account]) + amount);
  if (locked) pthread_mutex_unlock(&lock[account]);
}

static void *owner(void *arg) {
  int me = (int)(intptr_t)arg;
  add(me, 300, 1);
  add(me, -100, 1);
  add((me + 1) % accounts, 100, me < correct);
  return 0;
}

MAIN {
  correct = SIZE(1, 8);
  accounts = correct + SIZE(2, 1);
  for (int i = 0; i < accounts; i++) pthread_mutex_init(&lock[i], 0);
  for (int i = 0; i < accounts; i++) start(owner, i);
  join_all();
  for (int i = 0; i < accounts; i++) assert(peek(balance[i]) == 300);
  return 0;
}
