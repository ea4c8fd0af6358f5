// Both truth values are tried, which is complete; only a few values of an int are tried, which is not.
// expect: exact executions=8 states=8
// argv: bool
// expect: kind=assertion
// argv: int
// args: --strategy optimal
// says: n != INT_MIN
#include <limits.h>
#include <stdbool.h>

#include "litmus.h"

void hd_rt_observe(uint64_t value);
extern _Bool __VERIFIER_nondet_bool(void);
extern int __VERIFIER_nondet_int(void);
static int bits;

static void *chooser(void *arg)
{
  int mine = __VERIFIER_nondet_bool() << (int)(intptr_t)arg;
  __atomic_fetch_add(&bits, mine, __ATOMIC_RELAXED);
  return arg;
}

int main(int argc, char **argv)
{
  if (argv[1][0] == 'i') {
    int n = __VERIFIER_nondet_int();
    assert(n != INT_MIN);
    return 0;
  }
  chooser((void *)0);
  chooser((void *)1);
  join(spawn(chooser, (void *)2));
  hd_rt_observe((uint64_t)bits);
  return 0;
}
