// The value of a semaphore says nothing about the next moment. Wrong: a thread that saw one left waits without a
// limit, although another may have taken it.
// expect: clean executions=200
// expect: kind=deadlock
// argv: ask
// where: function=taker line=@wait
#include "litmus.h"
#include <semaphore.h>

static sem_t sem;
static int ask;

static void *taker(void *arg)
{
  int left = 0;
  sem_getvalue(&sem, &left);
  assert(left == 0 || left == 1);
  if (ask && left > 0)
    sem_wait(&sem); /* @wait */
  else
    (void)sem_trywait(&sem);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  ask = argc > 1;
  sem_init(&sem, 0, 1);
  both(taker, taker);
  sem_destroy(&sem);
  return 0;
}
