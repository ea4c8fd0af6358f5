// A loop that reads a variable in an atomic section in each round waits for it, and is a livelock when no thread is
// left to change it.
// expect: exact executions=3
// compilers: gcc
// argv: 1
// expect: kind=livelock
// argv: 0
// native: no
#include "heddle.h"
#include "litmus.h"

static int flag, set;

static void *setter(void *arg)
{
  hd_atomic_begin();
  flag = set;
  hd_atomic_end();
  return arg;
}

static void *waiter(void *arg)
{
  int seen = 0;
  while (!seen) {
    hd_atomic_begin();
    seen = flag;
    hd_atomic_end();
  }
  return arg;
}

int main(int argc, char **argv)
{
  set = argv[1][0] == '1';
  both(setter, waiter);
  return 0;
}
