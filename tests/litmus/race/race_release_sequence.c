// A relaxed store by another thread ends the release sequence.
// expect: kind=data-race
// where: function=reader
#include "litmus.h"

static int flag, data;

static void *writer(void *arg)
{
  data = 42;
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  return arg;
}

static void *bump(void *arg)
{
  if (peek(&flag) == 1) poke(&flag, 2);
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) == 2) return (void *)(long)data;
  return NULL;
}

int main(void)
{
  pthread_t t = spawn(bump, NULL);
  both(writer, reader);
  join(t);
  return 0;
}
