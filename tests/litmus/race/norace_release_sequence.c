// A relaxed read-modify-write by another thread continues the release sequence.
// expect: clean executions=1000
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
  if (peek(&flag) == 1) __atomic_fetch_add(&flag, 1, __ATOMIC_RELAXED);
  return arg;
}

static void *reader(void *arg)
{
  if (__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) assert(data == 42);
  return arg;
}

int main(void)
{
  pthread_t t = spawn(bump, NULL);
  both(writer, reader);
  join(t);
  return 0;
}
