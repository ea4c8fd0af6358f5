// A mutex and a semaphore that are initialised again while they are held or waited for: every order is explored.
// expect: goes-on executions=10 kinds=unlock-not-owner
// args: --ignore data-race
// argv: mutex
// expect: exact executions=4 kinds=deadlock
// args: --ignore data-race
// argv: sem
// native: no
#include <semaphore.h>

#include "litmus.h"

MUTEX(mutex);
static sem_t sem;

static void *user(void *how)
{
  if (!strcmp(how, "mutex")) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  } else {
    sem_wait(&sem);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  sem_init(&sem, 0, 1);
  pthread_t a = spawn(user, argv[1]), b = spawn(user, argv[1]);
  if (!strcmp(argv[1], "mutex"))
    pthread_mutex_init(&mutex, NULL);
  else
    sem_init(&sem, 0, 1);
  join(a);
  join(b);
  return 0;
}
