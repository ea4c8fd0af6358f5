// pthread_self in the thread equals what create returned, and differs from the others'.
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"

static pthread_t self[3];

static void *worker(void *arg)
{
  self[(long)arg] = pthread_self();
  assert(pthread_equal(self[(long)arg], pthread_self()));
  sched_yield();
  assert(pthread_equal(self[(long)arg], pthread_self()));
  return arg;
}

int main(void)
{
  void *r;
  self[0] = pthread_self();
  pthread_t a = spawn(worker, (void *)1L), b = spawn(worker, (void *)2L);
  assert(pthread_join(a, &r) == 0 && r == (void *)1L);
  assert(pthread_join(b, &r) == 0 && r == (void *)2L);
  assert(pthread_equal(a, self[1]) && pthread_equal(b, self[2]) && !pthread_equal(a, b));
  assert(pthread_equal(self[0], pthread_self()) && !pthread_equal(self[0], a));
  return 0;
}
