// Thread-local variables: fresh in every thread, private to it, different addresses.
// opt: -O0 -O2
// expect: clean executions=300
#include "litmus.h"

static _Thread_local int zero;
static _Thread_local int seven = 7;
static int *where[2];

static void *worker(void *arg)
{
  assert(zero == 0 && seven == 7);
  where[(long)arg] = &zero;
  for (int i = 0; i < 3; i++) {
    zero++;
    seven--;
    sched_yield();
  }
  assert(zero == 3 && seven == 4);
  assert(errno == 0);
  errno = (int)(long)arg + 1;
  sched_yield();
  assert(errno == (int)(long)arg + 1);
  return NULL;
}

int main(void)
{
  assert(zero == 0 && seven == 7);
  zero = 100;
  pthread_t a = spawn(worker, (void *)0L), b = spawn(worker, (void *)1L);
  join(a);
  join(b);
  assert(zero == 100 && where[0] != where[1] && where[0] != &zero);
  return 0;
}
