// A process that ends calls no key destructors, neither when main returns nor for the thread that calls exit.
// opt: -O0 -O2
// restart: memory fork
// args: --leaks
// expect: clean
#include "litmus.h"

static pthread_key_t key;

static void destroy(void *value)
{
  free(value);
  abort();
}

static void *worker(void *arg)
{
  pthread_setspecific(key, malloc(8));
  exit(0);
  return arg;
}

int main(void)
{
  assert(pthread_key_create(&key, destroy) == 0);
  pthread_setspecific(key, malloc(8));
  spawn(worker, NULL);
  return 0;
}
