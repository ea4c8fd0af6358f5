// Atomic structures of a size that no processor has: functions of libatomic, as one operation each.
// opt: -O0 -O2
// expect: exact executions=2
// argv: publish
// expect: exact executions=2
// argv: exchange
// expect: exact executions=2
// argv: cas
#include "litmus.h"

struct three {
  long a, b, c;
};

static struct three shared;
static int data;

static void *writer(void *arg)
{
  struct three t = {1, 2, 3};
  data = 1;
  __atomic_store(&shared, &t, __ATOMIC_RELEASE);
  return arg;
}

static void *reader(void *arg)
{
  struct three t;
  __atomic_load(&shared, &t, __ATOMIC_ACQUIRE);
  assert(t.a * 2 == t.b && t.a * 3 == t.c);
  if (t.a) assert(data == 1);
  return arg;
}

static void *exchange(void *arg)
{
  struct three t = {5, 6, 7}, old;
  __atomic_exchange(&shared, &t, &old, __ATOMIC_ACQ_REL);
  if (!old.c) data++;
  return arg;
}

static void *once(void *arg)
{
  struct three next = {2, 4, 6}, expected = {0};
  if (__atomic_compare_exchange(&shared, &expected, &next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    data++;
  else
    assert(expected.a == 2 && expected.b == 4 && expected.c == 6);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  switch (argv[1][0]) {
  case 'p': both(writer, reader); break;
  case 'e':
    both(exchange, exchange);
    assert(data == 1);
    break;
  case 'c':
    both(once, once);
    assert(data == 1);
    break;
  }
  return 0;
}
