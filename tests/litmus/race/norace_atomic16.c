// 16-byte atomics: both halves change together, and release and acquire work through them.
// compilers: clang
// cflags: -mcx16
// expect: clean executions=300
#include "litmus.h"

static _Atomic __int128 pair;
static int data;

static void *writer(void *arg)
{
  data = 1;
  __c11_atomic_fetch_add(&pair, ((__int128)1 << 64) + 1, __ATOMIC_SEQ_CST);
  return arg;
}

static void *reader(void *arg)
{
  __int128 v = __c11_atomic_load(&pair, __ATOMIC_ACQUIRE);
  assert((uint64_t)v == (uint64_t)(v >> 64));
  if (v) assert(data == 1);
  return arg;
}

int main(void)
{
  both(writer, reader);
  return 0;
}
