// Two semaphores taken in two orders; and one that is never posted.
// expect: kind=deadlock
// where: function=one line=@one2 role=waits
// where: function=two line=@two2 role=waits
// says: waits for the semaphore
// expect: kind=deadlock
// argv: lost
// where: function=lost line=@lost role=waits
#include "litmus.h"
#include <semaphore.h>

static sem_t a, b;

static void *one(void *arg)
{
  sem_wait(&a);
  sem_wait(&b); /* @one2 */
  sem_post(&b);
  sem_post(&a);
  return arg;
}

static void *two(void *arg)
{
  sem_wait(&b);
  sem_wait(&a); /* @two2 */
  sem_post(&a);
  sem_post(&b);
  return arg;
}

static void *lost(void *arg)
{
  if (sem_trywait(&a)) return arg;
  sem_wait(&a); /* @lost */
  return arg;
}

int main(int argc, char **argv)
{
  sem_init(&a, 0, 1);
  sem_init(&b, 0, 1);
  if (argc > 1 && argv[1][0] == 'l')
    both(lost, lost);
  else
    both(one, two);
  return 0;
}
