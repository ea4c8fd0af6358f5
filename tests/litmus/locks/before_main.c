// Locks that were used before main, by a constructor, are free in main, whatever libc has left in their memory.
// expect: clean executions=300
#include <semaphore.h>

#include "litmus.h"

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static int value;

__attribute__((constructor)) static void before(void)
{
  pthread_rwlock_rdlock(&rwlock);
  pthread_rwlock_unlock(&rwlock);
  pthread_rwlock_wrlock(&rwlock);
  value = 1;
  pthread_rwlock_unlock(&rwlock);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  pthread_spin_init(&spin, 0);
  pthread_spin_lock(&spin);
  pthread_spin_unlock(&spin);
  sem_init(&sem, 0, 1);
  sem_wait(&sem);
  sem_post(&sem);
}

static void *worker(void *arg)
{
  pthread_rwlock_wrlock(&rwlock);
  value++;
  pthread_rwlock_unlock(&rwlock);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_t t = spawn(worker, NULL);
  pthread_rwlock_rdlock(&rwlock);
  assert(value > 0);
  pthread_rwlock_unlock(&rwlock);
  pthread_spin_lock(&spin);
  pthread_spin_unlock(&spin);
  sem_wait(&sem);
  sem_post(&sem);
  join(t);
  assert(pthread_rwlock_trywrlock(&rwlock) == 0);
  assert(pthread_rwlock_tryrdlock(&rwlock));
  pthread_rwlock_unlock(&rwlock);
  return 0;
}
