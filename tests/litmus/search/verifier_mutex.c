// A mutex as models write it: an atomic section that assumes it is free. Every execution in which a thread would have
// to wait is infeasible; the remaining ones are serial.
// restart: memory fork
// expect: exact executions=2 infeasible=2
// argv: right
// expect: exact executions=2 infeasible=2 kinds=assertion
// argv: wrong
#include "litmus.h"

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void __VERIFIER_assume(int);

static int held, top, wrong;

static void acquire(void)
{
  __VERIFIER_atomic_begin();
  __VERIFIER_assume(held == 0);
  held = 1;
  __VERIFIER_atomic_end();
}

static void release(void)
{
  __VERIFIER_atomic_begin();
  held = 0;
  __VERIFIER_atomic_end();
}

static void *push(void *arg)
{
  acquire();
  top++;
  assert(!wrong || top < 2);
  release();
  return arg;
}

int main(int argc, char **argv)
{
  wrong = argv[1][0] == 'w';
  both(push, push);
  return 0;
}
