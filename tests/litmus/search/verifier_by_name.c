// A function whose name begins with __VERIFIER_atomic_ is an atomic section: also when it returns early, is inlined, or
// calls another one.
// opt: -O0 -O2
// restart: memory fork
// expect: exact executions=2
// argv: add
// expect: exact executions=2
// argv: nested
// expect: kind=data-race
// argv: outside
#include "litmus.h"

static int x, y;

static void __VERIFIER_atomic_add(int n)
{
  int before = x;
  if (!n) return;
  x = before + n;
  y++;
}

void __VERIFIER_atomic_twice(int n)
{
  __VERIFIER_atomic_add(n);
  x += n;
  __VERIFIER_atomic_add(0);
  y++;
}

static void *add(void *arg)
{
  __VERIFIER_atomic_add(1);
  return arg;
}

static void *twice(void *arg)
{
  __VERIFIER_atomic_twice(1);
  return arg;
}

static void *outside(void *arg)
{
  x = 7;
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  switch (argv[1][0]) {
  case 'a': both(add, add); break;
  case 'n': both(twice, twice); break;
  case 'o': both(add, outside); break;
  }
  assert(argv[1][0] == 'o' || x == (argv[1][0] == 'a' ? 2 : 4));
  return 0;
}
