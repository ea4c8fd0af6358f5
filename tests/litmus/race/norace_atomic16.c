// 16-byte atomics: both halves change together, release and acquire work through them, and a loop that waits for one is
// recognised; with and without instructions of the processor for them (else functions of libatomic are called).
// opt: -O0 -O2
// expect: exact executions=2
// argv: publish
// cflags: -mcx16
// expect: exact executions=2
// argv: publish
// expect: exact executions=2
// argv: cas
// expect: exact executions=2
// argv: wait
#include "litmus.h"
#include <stdatomic.h>

static _Atomic __int128 pair;
static int data;

static void *writer(void *arg)
{
  data = 1;
  atomic_fetch_add_explicit(&pair, ((__int128)1 << 64) + 1, memory_order_seq_cst);
  return arg;
}

static void *reader(void *arg)
{
  __int128 v = atomic_load_explicit(&pair, memory_order_acquire);
  assert((uint64_t)v == (uint64_t)(v >> 64));
  if (v) assert(data == 1);
  return arg;
}

static void *waiter(void *arg)
{
  while (!atomic_load_explicit(&pair, memory_order_acquire))
    ;
  assert(data == 1);
  return arg;
}

static void *once(void *arg)
{
  __int128 expected = 0;
  if (atomic_compare_exchange_strong(&pair, &expected, 7)) data++;
  assert(expected == 0 || expected == 7);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  switch (argv[1][0]) {
  case 'p': both(writer, reader); break;
  case 'w': both(writer, waiter); break;
  case 'c':
    both(once, once);
    assert(data == 1);
  }
  return 0;
}
