// Destroying a semaphore that a thread may still wait for, and using a destroyed one.
// expect: kind=destroy-in-use
// argv: early
// expect: kind=destroy-in-use
// argv: late
// says: use of a destroyed semaphore
// expect: clean executions=1
// args: --strategy optimal
#include "litmus.h"
#include <semaphore.h>

static sem_t s;

static void *waiter(void *arg)
{
  sem_wait(&s);
  return arg;
}

int main(int argc, char **argv)
{
  int early = argc > 1 && argv[1][0] == 'e', late = argc > 1 && argv[1][0] == 'l';
  sem_init(&s, 0, 0);
  pthread_t t = spawn(waiter, NULL);
  sem_post(&s);
  if (!early) join(t);
  sem_destroy(&s);
  if (late) sem_post(&s);
  if (early) join(t);
  return 0;
}
