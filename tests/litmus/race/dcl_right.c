// Double-checked locking with acquire and release.
// expect: clean executions=500
#include "litmus.h"

MUTEX(lock);
static int *instance, storage;

static int *get(void)
{
  int *p = __atomic_load_n(&instance, __ATOMIC_ACQUIRE);
  if (!p) {
    pthread_mutex_lock(&lock);
    p = peek(&instance);
    if (!p) {
      storage = 7;
      p = &storage;
      __atomic_store_n(&instance, p, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
  }
  return p;
}

static void *user(void *arg)
{
  assert(*get() == 7);
  return arg;
}

int main(void)
{
  both(user, user);
  return 0;
}
