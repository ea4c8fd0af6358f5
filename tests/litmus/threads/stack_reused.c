// The stack and thread-local variables of an ended thread are reused by another one that is not ordered after it: not
// a race.
// restart: memory fork
// expect: clean executions=200
// args: --strategy random
#include "litmus.h"

static _Thread_local long mine;

static void use(long *p) { *p += 1; }

static void *touches(void *arg)
{
  long local[64] = {0};
  for (int i = 0; i < 64; i++) use(&local[i]);
  use(&mine);
  assert(mine == 1 && local[63] == 1);
  return arg;
}

static void *creates(void *arg)
{
  join(spawn(touches, NULL));
  return arg;
}

int main(void)
{
  pthread_t a = spawn(touches, NULL), b = spawn(creates, NULL);
  join(a);
  join(b);
  return 0;
}
