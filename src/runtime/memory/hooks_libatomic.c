/* hooks_libatomic.c: atomic operations of libatomic, which the compilers call for sizes that they do not handle
 * inline: 16 bytes, and structures of any size. Runs in the tested process.
 *
 * They are operations like those of the instrumentation (hooks_atomic.c). libatomic itself is never called, so that
 * all who access an object do it in the same way: sizes that the processor can handle without a lock, others under
 * one of a table of spin locks. Nobody is switched away from while he has one. */
#include "runtime/core/core.h"
#include "runtime/memory/atomic.h"
#include "runtime/memory/memory.h"

#define LOAD(n) HD_IN(__atomic_load_##n)
#define CAS(n) HD_IN(__atomic_compare_exchange_##n)

/* gcc knows these functions with prototypes of its own, so ours have other names in C. */
#define OPERATION(ret, op, n, ...) HD_EXPORT ret hd_rt_##op##_##n(__VA_ARGS__) __asm__("__atomic_" #op "_" #n)

#define FETCH(op, n, T, v_new)                             \
  OPERATION(T, fetch_##op, n, volatile T *a, T v, int mo); \
  T hd_rt_fetch_##op##_##n(volatile T *a, T v, int mo) {   \
    hd__atomic_rmw((uint64_t)a, sizeof(T), mo, HD_CALLER); \
    T c = load_##n(a);                                     \
    while (!cas_##n(a, &c, (T)(v_new)))                    \
      ;                                                    \
    return c;                                              \
  }                                                        \
  OPERATION(T, op##_fetch, n, volatile T *a, T v, int mo); \
  T hd_rt_##op##_fetch_##n(volatile T *a, T v, int mo) {   \
    hd__atomic_rmw((uint64_t)a, sizeof(T), mo, HD_CALLER); \
    T c = load_##n(a);                                     \
    while (!cas_##n(a, &c, (T)(v_new)))                    \
      ;                                                    \
    return (T)(v_new);                                     \
  }

#define SIZE(n, T)                                                            \
  T LOAD(n)(const volatile T *a, int mo);                                     \
  T LOAD(n)(const volatile T *a, int mo) {                                    \
    hd__atomic_load((uint64_t)a, sizeof(T), mo, HD_CALLER);                   \
    return load_##n(a);                                                       \
  }                                                                           \
  OPERATION(void, store, n, volatile T *a, T v, int mo);                      \
  void hd_rt_store_##n(volatile T *a, T v, int mo) {                          \
    hd__atomic_store((uint64_t)a, sizeof(T), mo, HD_CALLER);                  \
    exchange_##n(a, v);                                                       \
  }                                                                           \
  OPERATION(T, exchange, n, volatile T *a, T v, int mo);                      \
  T hd_rt_exchange_##n(volatile T *a, T v, int mo) {                          \
    hd__atomic_rmw((uint64_t)a, sizeof(T), mo, HD_CALLER);                    \
    return exchange_##n(a, v);                                                \
  }                                                                           \
  int CAS(n)(volatile T * a, T * expected, T v, int mo, int fail_mo);         \
  int CAS(n)(volatile T * a, T * expected, T v, int mo, int fail_mo) {        \
    hd__atomic_cas((uint64_t)a, sizeof(T), expected, mo, fail_mo, HD_CALLER); \
    return cas_##n(a, expected, v);                                           \
  }                                                                           \
  FETCH(add, n, T, c + v)                                                     \
  FETCH(sub, n, T, c - v)                                                     \
  FETCH(and, n, T, c &v)                                                      \
  FETCH(or, n, T, c | v)                                                      \
  FETCH(xor, n, T, c ^ v)                                                     \
  FETCH(nand, n, T, ~(c & v))

#define PLAIN(n, T)                                                                                        \
  static inline T load_##n(const volatile T *a) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }           \
  static inline T exchange_##n(volatile T *a, T v) { return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST); } \
  static inline int cas_##n(volatile T *a, T *c, T v) {                                                    \
    return __atomic_compare_exchange_n(a, c, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
  }                                                                                                        \
  SIZE(n, T)

#define load_16 load128
#define exchange_16 exchange128
#define cas_16 cas128

PLAIN(1, uint8_t)
PLAIN(2, uint16_t)
PLAIN(4, uint32_t)
PLAIN(8, uint64_t)
SIZE(16, u128)

/* ---- any size ---- */

#define LOCKS 64
static struct { _Alignas(64) char taken; } locks[LOCKS];

static char *lock_of(uint64_t a) {
  char *lock = &locks[(a >> 4) % LOCKS].taken;
  while (__atomic_test_and_set(lock, __ATOMIC_ACQUIRE)) __builtin_ia32_pause();
  return lock;
}

static void unlock(char *lock) { __atomic_clear(lock, __ATOMIC_RELEASE); }

/* Runs `direct` where the processor can do it at that address without a lock, else `locked` under the lock. */
#define BY_SIZE(a, n, direct, locked) \
  switch ((a) & ((n)-1) ? 0 : (n)) {  \
    case 1: {                         \
      direct(1, uint8_t);             \
    } break;                          \
    case 2: {                         \
      direct(2, uint16_t);            \
    } break;                          \
    case 4: {                         \
      direct(4, uint32_t);            \
    } break;                          \
    case 8: {                         \
      direct(8, uint64_t);            \
    } break;                          \
    case 16: {                        \
      direct(16, u128);               \
    } break;                          \
    default: {                        \
      char *lock = lock_of(a);        \
      locked;                         \
      unlock(lock);                   \
    }                                 \
  }

/* A buffer of the caller may be aligned to less than its size. */
#define GET(T, p)                  \
  ({                               \
    T v_;                          \
    hd__copy(&v_, (p), sizeof v_); \
    v_;                            \
  })

void HD_IN(__atomic_load)(size_t n, const void *a, void *to, int mo);
void HD_IN(__atomic_load)(size_t n, const void *a, void *to, int mo) {
  hd__atomic_load((uint64_t)a, n, mo, HD_CALLER);
#define DIRECT(k, T)     \
  T value = load_##k(a); \
  hd__copy(to, &value, k)
  BY_SIZE((uint64_t)a, n, DIRECT, hd__copy(to, a, n))
#undef DIRECT
}

HD_EXPORT void hd_rt_atomic_store(size_t n, void *a, const void *from, int mo) __asm__("__atomic_store");
void hd_rt_atomic_store(size_t n, void *a, const void *from, int mo) {
  hd__atomic_store((uint64_t)a, n, mo, HD_CALLER);
#define DIRECT(k, T) exchange_##k(a, GET(T, from))
  BY_SIZE((uint64_t)a, n, DIRECT, hd__copy(a, from, n))
#undef DIRECT
}

HD_EXPORT void hd_rt_atomic_exchange(size_t n, void *a, const void *from, void *old,
                                     int mo) __asm__("__atomic_exchange");
void hd_rt_atomic_exchange(size_t n, void *a, const void *from, void *old, int mo) {
  hd__atomic_rmw((uint64_t)a, n, mo, HD_CALLER);
#define DIRECT(k, T)                       \
  T value = exchange_##k(a, GET(T, from)); \
  hd__copy(old, &value, k)
#define LOCKED                                               \
  for (size_t i = 0; i < n; i++) { /* `from` may be `old` */ \
    char byte = ((const char *)from)[i];                     \
    ((char *)old)[i] = ((char *)a)[i];                       \
    ((char *)a)[i] = byte;                                   \
  }
  BY_SIZE((uint64_t)a, n, DIRECT, LOCKED)
#undef DIRECT
#undef LOCKED
}

int HD_IN(__atomic_compare_exchange)(size_t n, void *a, void *expected, const void *from, int mo,
                                     int fail_mo);
int HD_IN(__atomic_compare_exchange)(size_t n, void *a, void *expected, const void *from, int mo,
                                     int fail_mo) {
  hd__atomic_cas((uint64_t)a, n, expected, mo, fail_mo, HD_CALLER);
  int wins;
#define DIRECT(k, T)                      \
  T want = GET(T, expected);              \
  wins = cas_##k(a, &want, GET(T, from)); \
  if (!wins) hd__copy(expected, &want, k)
#define LOCKED                                                        \
  wins = hd__cas_wins(&(struct hd_cas){a, expected, (unsigned)n, 0}); \
  if (wins)                                                           \
    hd__copy(a, from, n);                                             \
  else                                                                \
    hd__copy(expected, a, n)
  BY_SIZE((uint64_t)a, n, DIRECT, LOCKED)
#undef DIRECT
#undef LOCKED
  return wins;
}
