// A barrier made of a mutex and a condition variable, used twice by four threads.
// restart: memory fork
// expect: clean executions=200
// args: --spurious
#include "litmus.h"

#define N 4
MUTEX(lock);
COND(cond);
static int here, generation, data[N];

static void barrier(void)
{
  pthread_mutex_lock(&lock);
  int g = generation;
  if (++here == N) {
    here = 0;
    generation++;
    pthread_cond_broadcast(&cond);
  } else {
    while (g == generation) pthread_cond_wait(&cond, &lock);
  }
  pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
  long me = (long)arg;
  data[me] = 1;
  barrier();
  int sum = 0;
  for (int i = 0; i < N; i++) sum += data[i];
  assert(sum == N);
  barrier();
  data[me] = 2;
  return NULL;
}

int main(void)
{
  pthread_t t[N];
  for (long i = 0; i < N; i++) t[i] = spawn(worker, (void *)i);
  for (int i = 0; i < N; i++) join(t[i]);
  return 0;
}
