// Locked instructions in assembly are atomic operations on their memory operands, and so is a move that clobbers memory;
// other instructions are plain accesses.
// opt: -O0 -O2
// expect: exact executions=2
// argv: locked
// expect: kind=data-race
// argv: plain
// expect: exact executions=2
// argv: moved
#include "litmus.h"

static int x;

static void *locked(void *arg)
{
  int old = 1;
  __asm__ volatile("lock; xaddl %0, %1" : "+r"(old), "+m"(x) : : "memory", "cc");
  return arg;
}

static void *plain(void *arg)
{
  __asm__ volatile("incl %0" : "+m"(x) : : "cc");
  return arg;
}

static void *moved(void *arg)
{
  __asm__ volatile("movl $1, %0" : "=m"(x) : : "memory");
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  if (argv[1][0] == 'l')
    both(locked, locked);
  else if (argv[1][0] == 'm')
    both(moved, locked);
  else
    both(plain, plain);
  return 0;
}
