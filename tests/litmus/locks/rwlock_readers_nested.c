// Readers that hold the lock twice, that try for it, and that wait for each other while they hold it. The writer comes
// before all of them, after all, or in the way of the attempt: one execution for each class that plain search finds.
// opt: -O0 -O2
// expect: clean executions=4
// args: --strategy optimal
// expect: clean executions=4
// args: --strategy dpor
#include "litmus.h"
#include <semaphore.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t ready;
static int x;

static void *first(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  int before = x;
  sem_wait(&ready);
  assert(x == before);
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *second(void *arg)
{
  if (pthread_rwlock_tryrdlock(&lock)) {
    sem_post(&ready);
    return arg;
  }
  sem_post(&ready);
  int before = x;
  pthread_rwlock_rdlock(&lock);
  pthread_rwlock_unlock(&lock);
  assert(x == before);
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *writer(void *arg)
{
  pthread_rwlock_wrlock(&lock);
  x = 1;
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_t t[3];
  sem_init(&ready, 0, 0);
  pthread_create(&t[0], NULL, first, NULL);
  pthread_create(&t[1], NULL, second, NULL);
  pthread_create(&t[2], NULL, writer, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], NULL);
  return 0;
}
