// Writes before create, and reads after join, are ordered.
// expect: clean executions=200
#include "litmus.h"

static int before, result;

static void *worker(void *arg)
{
  result = before + *(int *)arg;
  return NULL;
}

int main(void)
{
  int local = 2;
  before = 1;
  pthread_t t = spawn(worker, &local);
  join(t);
  assert(result == 3);
  result = before = local = 0;
  t = spawn(worker, &local);
  join(t);
  assert(result == 0);
  return 0;
}
