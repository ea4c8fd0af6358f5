// Unlocked by a thread that did not lock it.
// expect: kind=unlock-not-owner
// where: function=thief line=@unlock
#include "litmus.h"

MUTEX(lock);
static int taken;

static void *owner(void *arg)
{
  pthread_mutex_lock(&lock);
  poke(&taken, 1);
  sched_yield();
  poke(&taken, 0);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *thief(void *arg)
{
  if (peek(&taken)) pthread_mutex_unlock(&lock); /* @unlock */
  return arg;
}

int main(void)
{
  both(owner, thief);
  return 0;
}
