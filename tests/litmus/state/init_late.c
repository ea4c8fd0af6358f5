// Objects that one thread initialises while another uses them: both orders are explored.
// expect: kind=data-race|deadlock
// argv: sem
// expect: exact executions=2 kinds=deadlock
// argv: sem
// args: --ignore data-race
// expect: kind=data-race
// argv: trywait
// expect: exact executions=3
// argv: trywait
// args: --ignore data-race
// expect: kind=data-race
// argv: mutex
// expect: kind=data-race
// argv: cond
// expect: exact executions=3 kinds=lost-wakeup
// argv: cond
// args: --ignore data-race
// expect: kind=data-race
// argv: rwlock
// expect: kind=data-race
// argv: spin
// expect: kind=data-race|destroy-in-use
// argv: barrier
// expect: kind=data-race
// argv: c11
// native: no
#include <semaphore.h>
#include <threads.h>

#include "litmus.h"

static sem_t sem;
static pthread_mutex_t mutex;
static pthread_cond_t cond;
static pthread_rwlock_t rwlock;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
MUTEX(lock);
static mtx_t mtx;
static cnd_t cnd;
static int go;

static void *user(void *how)
{
  if (!strcmp(how, "sem")) {
    sem_post(&sem);
  } else if (!strcmp(how, "trywait")) {
    if (sem_trywait(&sem)) sem_trywait(&sem);
  } else if (!strcmp(how, "mutex")) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  } else if (!strcmp(how, "cond")) {
    pthread_mutex_lock(&lock);
    while (!go) pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
  } else if (!strcmp(how, "rwlock")) {
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
  } else if (!strcmp(how, "spin")) {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
  } else if (!strcmp(how, "c11")) {
    mtx_lock(&mtx);
    cnd_signal(&cnd);
    mtx_unlock(&mtx);
  } else {
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  pthread_t t = spawn(user, argv[1]);
  if (!strcmp(argv[1], "cond")) {
    pthread_cond_init(&cond, NULL);
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
  } else if (!strcmp(argv[1], "barrier")) {
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_barrier_wait(&barrier);
  } else {
    pthread_mutex_init(&mutex, NULL);
    pthread_rwlock_init(&rwlock, NULL);
    pthread_spin_init(&spin, 0);
    mtx_init(&mtx, mtx_plain);
    cnd_init(&cnd);
    sem_init(&sem, 0, !strcmp(argv[1], "trywait"));
    if (!strcmp(argv[1], "sem")) sem_wait(&sem);
  }
  join(t);
  return 0;
}
