// Recursive and error-checking mutexes, used correctly; the robust flag is accepted.
// restart: memory fork
// expect: clean executions=300
#include "litmus.h"

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t made, robust;
static int counter;

static void *worker(void *arg)
{
  for (int i = 0; i < 3; i++) assert(pthread_mutex_lock(&recursive) == 0);
  assert(pthread_mutex_trylock(&recursive) == 0);
  counter++;
  for (int i = 0; i < 4; i++) assert(pthread_mutex_unlock(&recursive) == 0);

  assert(pthread_mutex_lock(&checking) == 0);
  assert(pthread_mutex_lock(&checking) == EDEADLK);
  assert(pthread_mutex_trylock(&checking) == EBUSY);
  counter++;
  assert(pthread_mutex_unlock(&checking) == 0);
  return arg;
}

static void *other(void *arg)
{
  assert(pthread_mutex_unlock(&checking) == EPERM);
  assert(pthread_mutex_unlock(&recursive) == EPERM);
  pthread_mutex_lock(&made);
  pthread_mutex_lock(&made);
  pthread_mutex_unlock(&made);
  pthread_mutex_unlock(&made);
  assert(pthread_mutex_lock(&robust) == 0);
  assert(pthread_mutex_unlock(&robust) == 0);
  return arg;
}

int main(void)
{
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&made, &attr);
  pthread_mutexattr_destroy(&attr);
  pthread_mutexattr_init(&attr);
  assert(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST) == 0);
  assert(pthread_mutex_init(&robust, &attr) == 0);
  pthread_t t = spawn(other, NULL);
  worker(NULL);
  join(t);
  assert(counter == 2);
  assert(pthread_mutex_destroy(&made) == 0);
  assert(pthread_mutex_destroy(&robust) == 0);
  return 0;
}
