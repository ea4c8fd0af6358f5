// Objects that are initialised while other threads exist, but before those use them, and again after use.
// expect: clean executions=60
// expect: exact executions=9 dfs=no
#include <semaphore.h>

#include "litmus.h"

struct object {
  sem_t sem;
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  pthread_spinlock_t spin;
};
MUTEX(lock);
static struct object *made;

static void *user(void *arg)
{
  pthread_mutex_lock(&lock);
  struct object *o = made;
  pthread_mutex_unlock(&lock);
  if (!o) return arg;
  sem_wait(&o->sem);
  pthread_mutex_lock(&o->mutex);
  pthread_mutex_unlock(&o->mutex);
  pthread_rwlock_wrlock(&o->rwlock);
  pthread_rwlock_unlock(&o->rwlock);
  pthread_spin_lock(&o->spin);
  pthread_spin_unlock(&o->spin);
  return arg;
}

int main(void)
{
  static struct object o;
  for (int i = 0; i < 2; i++) {
    made = NULL;
    pthread_t t = spawn(user, NULL);
    sem_init(&o.sem, 0, 0);
    pthread_mutex_init(&o.mutex, NULL);
    pthread_rwlock_init(&o.rwlock, NULL);
    pthread_spin_init(&o.spin, 0);
    pthread_mutex_lock(&lock);
    made = &o;
    pthread_mutex_unlock(&lock);
    sem_post(&o.sem);
    pthread_mutex_lock(&o.mutex);
    pthread_mutex_unlock(&o.mutex);
    join(t);
    sem_destroy(&o.sem);
    pthread_mutex_destroy(&o.mutex);
    pthread_rwlock_destroy(&o.rwlock);
    pthread_spin_destroy(&o.spin);
  }
  return 0;
}
