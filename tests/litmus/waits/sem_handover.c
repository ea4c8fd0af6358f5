// Writes before a post are visible after the wait; without the wait it is a race.
// expect: clean executions=1
// args: --strategy optimal
// expect: kind=data-race
// argv: early
#include "litmus.h"
#include <semaphore.h>

static sem_t ready;
static int value, early;

static void *giver(void *arg)
{
  value = 7;
  sem_post(&ready);
  return arg;
}

static void *taker(void *arg)
{
  if (!early) sem_wait(&ready);
  assert(value == 7 || early);
  return arg;
}

int main(int argc, char **argv)
{
  early = argc > 1 && argv[1][0] == 'e';
  sem_init(&ready, 0, 0);
  both(giver, taker);
  return 0;
}
