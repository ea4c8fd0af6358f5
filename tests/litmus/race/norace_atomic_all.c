// Atomics of 1 to 8 bytes, every operation: the results are right and nothing races.
// opt: -O0 -O2
// expect: clean executions=100
#include "litmus.h"

static uint8_t a8;
static uint16_t a16;
static uint32_t a32;
static uint64_t a64;

#define ROUND(v)                                                             \
  do {                                                                       \
    __atomic_fetch_add(&v, 5, __ATOMIC_ACQ_REL);                             \
    __atomic_fetch_sub(&v, 2, __ATOMIC_SEQ_CST);                             \
    __typeof__(v) old = __atomic_load_n(&v, __ATOMIC_CONSUME);               \
    while (!__atomic_compare_exchange_n(&v, &old, old + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE)) \
      ;                                                                      \
    __atomic_fetch_or(&v, 0, __ATOMIC_RELEASE);                              \
    __atomic_fetch_xor(&v, 0, __ATOMIC_RELAXED);                             \
    __atomic_fetch_and(&v, (__typeof__(v))-1, __ATOMIC_ACQUIRE);             \
  } while (0)

static void *worker(void *arg)
{
  ROUND(a8);
  ROUND(a16);
  ROUND(a32);
  ROUND(a64);
  return arg;
}

int main(void)
{
  both(worker, worker);
  assert(a8 == 8 && a16 == 8 && a32 == 8 && a64 == 8);
  a8 = 0x0f;
  assert(__atomic_fetch_nand(&a8, 0x3c, __ATOMIC_SEQ_CST) == 0x0f && a8 == (uint8_t)~0x0c);
  assert(__atomic_exchange_n(&a16, 3, __ATOMIC_SEQ_CST) == 8 && a16 == 3);
  assert(__atomic_add_fetch(&a32, 1, __ATOMIC_SEQ_CST) == 9);
  assert(__atomic_sub_fetch(&a64, 9, __ATOMIC_SEQ_CST) == (uint64_t)-1);
  assert(__sync_val_compare_and_swap(&a64, (uint64_t)-1, 5) == (uint64_t)-1 && a64 == 5);
  assert(__sync_bool_compare_and_swap(&a64, 6, 7) == 0 && a64 == 5);
  assert(__atomic_test_and_set(&a8, __ATOMIC_SEQ_CST));
  __atomic_clear(&a8, __ATOMIC_SEQ_CST);
  assert(a8 == 0);
  return 0;
}
