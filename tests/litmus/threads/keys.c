// Keys: a value per thread, destructors called with it, repeated while a destructor sets one; deleted keys have none.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
// args: --leaks
#include "litmus.h"

static pthread_key_t key, second, deleted;
static int destroyed, again;

static void destroy(void *value)
{
  assert(pthread_getspecific(key) == NULL);
  __atomic_fetch_add(&destroyed, *(int *)value, __ATOMIC_SEQ_CST);
  free(value);
  pthread_setspecific(second, &again);
}

static void destroy_second(void *value)
{
  __atomic_fetch_add((int *)value, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
  assert(pthread_getspecific(key) == NULL);
  int *v = malloc(sizeof *v);
  *v = (int)(long)arg;
  pthread_setspecific(key, v);
  pthread_setspecific(deleted, &again);
  sched_yield();
  assert(pthread_getspecific(key) == v);
  if (*v == 2) pthread_exit(NULL);
  return NULL;
}

int main(void)
{
  assert(pthread_key_create(&key, destroy) == 0);
  assert(pthread_key_create(&second, destroy_second) == 0);
  assert(pthread_key_create(&deleted, destroy_second) == 0);
  assert(pthread_getspecific(key) == NULL);
  assert(pthread_key_delete(deleted) == 0);
  pthread_t a = spawn(worker, (void *)1L), b = spawn(worker, (void *)2L);
  join(a);
  join(b);
  assert(destroyed == 3 && again == 2);
  assert(pthread_key_delete(key) == 0);
  return 0;
}
