/* account.c ACCOUNTS [ORDERED]: each thread moves money from its account to the next one in a ring, holding
 * the locks of both. Taken own account first they deadlock when all have taken one; ORDERED 1 takes the
 * lower number first. Forks in a ring again, see philosophers.c: 2^ACCOUNTS - 2 executions. The account
 * programs of Rungta (2009), appendix B.
 *
 * count: 3 1 strategy=optimal executions=6
 * count: 10 1 strategy=optimal executions=1022
 * count: 2 strategy=optimal executions=3 findings=deadlock
 * clean: 3 1
 * bug: 2 kind=deadlock
 * bug: 5 kind=deadlock
 * bug: 10 kind=deadlock */
#include "sizes.h"

static pthread_mutex_t lock[MAX_THREADS];
static int balance[MAX_THREADS], accounts, ordered;

static void *transfer(void *arg) {
  int from = (int)(intptr_t)arg, to = (from + 1) % accounts;
  int low = from < to ? from : to, first = ordered ? low : from;
  pthread_mutex_lock(&lock[first]);
  pthread_mutex_lock(&lock[from + to - first]);
  balance[from] -= 10;
  balance[to] += 10;
  pthread_mutex_unlock(&lock[from]);
  pthread_mutex_unlock(&lock[to]);
  return 0;
}

MAIN {
  accounts = SIZE(1, 5);
  ordered = SIZE(2, 0);
  for (int i = 0; i < accounts; i++) {
    pthread_mutex_init(&lock[i], 0);
    balance[i] = 100;
  }
  for (int i = 0; i < accounts; i++) start(transfer, i);
  join_all();
  for (int i = 0; i < accounts; i++) assert(balance[i] == 100);
  return 0;
}
