// Double-checked locking with a plain pointer.
// expect: kind=data-race
// where: function=get line=@check
#include "litmus.h"

MUTEX(lock);
static int *instance, storage;

static int *get(void)
{
  if (!instance) { /* @check */
    pthread_mutex_lock(&lock);
    if (!instance) {
      storage = 7;
      instance = &storage;
    }
    pthread_mutex_unlock(&lock);
  }
  return instance;
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
