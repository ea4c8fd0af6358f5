// A condition variable destroyed while a thread waits on it.
// native: no
// expect: kind=destroy-in-use
// where: function=main line=@destroy
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int waits;

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  waits = 1;
  pthread_cond_wait(&cond, &lock);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_t t = spawn(worker, NULL);
  for (int seen = 0; !seen; sched_yield()) {
    pthread_mutex_lock(&lock);
    seen = waits;
    pthread_mutex_unlock(&lock);
  }
  pthread_cond_destroy(&cond); /* @destroy */
  pthread_cond_signal(&cond);
  join(t);
  return 0;
}
