// Two threads add each other's number in atomic sections, as in benchmarks for verifiers. The largest sum that two
// rounds reach is 8, and the program reports it through the verifiers' functions.
// expect: exact executions=6 dfs=no
// argv: 8
// expect: exact executions=6 kinds=assertion dfs=no
// argv: 7
#include "litmus.h"

extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
extern void reach_error(void);

static int i = 1, j = 1, limit;

static void *add_j(void *arg)
{
  for (int k = 0; k < 2; k++) {
    __VERIFIER_atomic_begin();
    i += j;
    __VERIFIER_atomic_end();
  }
  return arg;
}

static void *add_i(void *arg)
{
  for (int k = 0; k < 2; k++) {
    __VERIFIER_atomic_begin();
    j += i;
    __VERIFIER_atomic_end();
  }
  return arg;
}

int main(int argc, char **argv)
{
  limit = atoi(argv[1]);
  both(add_j, add_i);
  if (i > limit || j > limit) reach_error();
  return 0;
}
