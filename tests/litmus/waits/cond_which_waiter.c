// A signal may wake any of the waiters.
// expect: kind=assertion
// argv: 1
// expect: kind=assertion
// argv: 2
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int tokens, waiting, winner, bet;

static void *waiter(void *arg)
{
  pthread_mutex_lock(&lock);
  waiting++;
  while (!tokens) pthread_cond_wait(&cond, &lock);
  tokens--;
  if (!winner) winner = (int)(long)arg;
  pthread_mutex_unlock(&lock);
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  bet = atoi(argv[1]);
  pthread_t a = spawn(waiter, (void *)1L), b = spawn(waiter, (void *)2L);
  for (int n = 0; n < 2; sched_yield()) {
    pthread_mutex_lock(&lock);
    n = waiting;
    pthread_mutex_unlock(&lock);
  }
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&lock);
    tokens++;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
  }
  join(a);
  join(b);
  assert(winner != bet);
  return 0;
}
