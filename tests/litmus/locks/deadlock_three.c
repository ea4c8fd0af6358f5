// A cycle of three.
// expect: kind=deadlock
// where: function=worker role=waits thread=T1
// where: function=worker role=waits thread=T2
// where: function=worker role=waits thread=T3
#include "litmus.h"

static pthread_mutex_t lock[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                  PTHREAD_MUTEX_INITIALIZER};

static void *worker(void *arg)
{
  long i = (long)arg;
  pthread_mutex_lock(&lock[i]);
  pthread_mutex_lock(&lock[(i + 1) % 3]);
  pthread_mutex_unlock(&lock[(i + 1) % 3]);
  pthread_mutex_unlock(&lock[i]);
  return NULL;
}

int main(void)
{
  pthread_t t[3];
  for (long i = 0; i < 3; i++) t[i] = spawn(worker, (void *)i);
  for (int i = 0; i < 3; i++) join(t[i]);
  return 0;
}
