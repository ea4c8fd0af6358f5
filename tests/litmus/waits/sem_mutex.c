// A semaphore with one token as a lock: correct. With two tokens it locks nothing.
// expect: clean executions=6
// args: --strategy optimal
// expect: clean executions=6
// args: --strategy dpor
// expect: kind=data-race
// argv: 2
// where: function=worker
#include "litmus.h"
#include <semaphore.h>

static sem_t sem;
static int n;

static void *worker(void *arg)
{
  sem_wait(&sem);
  n++;
  sem_post(&sem);
  return arg;
}

int main(int argc, char **argv)
{
  sem_init(&sem, 0, argc > 1 ? 2 : 1);
  pthread_t a = spawn(worker, NULL), b = spawn(worker, NULL), c = spawn(worker, NULL);
  join(a);
  join(b);
  join(c);
  assert(n == 3);
  return 0;
}
