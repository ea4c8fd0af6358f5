// Order through a chain: the grandchild's write, joined by the child, joined by main.
// expect: clean executions=200
#include "litmus.h"

static int value;

static void *grandchild(void *arg)
{
  value++;
  return arg;
}

static void *child(void *arg)
{
  value++;
  join(spawn(grandchild, NULL));
  value++;
  return arg;
}

int main(void)
{
  value = 1;
  join(spawn(child, NULL));
  assert(value == 4);
  return 0;
}
