// Destroyed after use, initialised and used again; and a mutex in memory that is freed and allocated again.
// restart: memory fork
// expect: clean executions=300
// args: --leaks
#include "litmus.h"

static pthread_mutex_t lock;
static pthread_cond_t cond;
static int counter;

static void *worker(void *arg)
{
  pthread_mutex_t *m = arg;
  pthread_mutex_lock(m);
  counter++;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(m);
  return NULL;
}

static void round_(pthread_mutex_t *m)
{
  assert(pthread_mutex_init(m, NULL) == 0);
  assert(pthread_cond_init(&cond, NULL) == 0);
  pthread_t a = spawn(worker, m), b = spawn(worker, m);
  join(a);
  join(b);
  assert(pthread_mutex_destroy(m) == 0);
  assert(pthread_cond_destroy(&cond) == 0);
}

int main(void)
{
  round_(&lock);
  round_(&lock);
  for (int i = 0; i < 2; i++) {
    pthread_mutex_t *m = malloc(sizeof *m);
    round_(m);
    free(m);
  }
  assert(counter == 8);
  return 0;
}
