// volatile does not synchronise threads.
// opt: -O0 -O2
// expect: kind=data-race
#include "litmus.h"

static volatile int flag;
static int data;

static void *writer(void *arg)
{
  data = 42;
  flag = 1;
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  if (flag) return (void *)(long)data;
  return NULL;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
