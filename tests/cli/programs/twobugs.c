/* A race, and an assertion that fails in some schedules. */
#include <assert.h>
#include <pthread.h>

int counter, total;

static void *worker(void *arg)
{
  counter++;
  __atomic_fetch_add(&total, 1, __ATOMIC_RELAXED);
  return arg;
}

static void *watcher(void *arg)
{
  assert(__atomic_load_n(&total, __ATOMIC_RELAXED) != 1);
  return arg;
}

int main(void)
{
  pthread_t a, b, c;
  pthread_create(&a, NULL, worker, NULL);
  pthread_create(&b, NULL, worker, NULL);
  pthread_create(&c, NULL, watcher, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  pthread_join(c, NULL);
  return 0;
}
