/* philosophers.c SEATS [FIXED]: everybody takes the fork on the left, then the one on the right; when all
 * have one, nobody eats. FIXED 1 has the last philosopher begin with the other. Of the 2^SEATS ways in which
 * each fork's two users can follow each other the two circular ones cannot be: 2^SEATS - 2 executions of the
 * fixed program. The faulty one has 2^SEATS - 1, the deadlock being one.
 *
 * count: 3 1 strategy=optimal executions=6
 * count: 10 1 strategy=optimal executions=1022
 * count: 2 strategy=optimal executions=3 findings=deadlock
 * count: 5 strategy=optimal executions=31 findings=deadlock
 * clean: 3 1
 * bug: 2 kind=deadlock
 * bug: 5 kind=deadlock
 * bug: 10 kind=deadlock */
#include "sizes.h"

static pthread_mutex_t fork_[MAX_THREADS];
static int seats, fixed;

static void *philosopher(void *arg) {
  int left = (int)(intptr_t)arg, right = (left + 1) % seats;
  int swap = fixed && left == seats - 1;
  pthread_mutex_lock(&fork_[swap ? right : left]);
  pthread_mutex_lock(&fork_[swap ? left : right]);
  pthread_mutex_unlock(&fork_[left]);
  pthread_mutex_unlock(&fork_[right]);
  return 0;
}

MAIN {
  seats = SIZE(1, 5);
  fixed = SIZE(2, 0);
  for (int i = 0; i < seats; i++) pthread_mutex_init(&fork_[i], 0);
  for (int i = 0; i < seats; i++) start(philosopher, i);
  join_all();
  return 0;
}
