// A key that is deleted while threads still have values: their destructors do not run, and the values leak.
// args: --leaks
// expect: clean executions=100
// expect: kind=leak
// argv: early
#include "litmus.h"

static pthread_key_t key;
static pthread_barrier_t set, go;

static void *worker(void *arg)
{
  pthread_setspecific(key, malloc(16));
  pthread_barrier_wait(&set);
  pthread_barrier_wait(&go);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  assert(pthread_key_create(&key, free) == 0);
  pthread_barrier_init(&set, NULL, 2);
  pthread_barrier_init(&go, NULL, 2);
  pthread_t t = spawn(worker, NULL);
  pthread_barrier_wait(&set);
  if (argc > 1) pthread_key_delete(key);
  pthread_barrier_wait(&go);
  join(t);
  if (argc == 1) pthread_key_delete(key);
  return 0;
}
