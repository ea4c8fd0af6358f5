/* hooks_atomic.c: atomic operations, as the instrumentation calls them. Runs in the tested process.
 *
 * An operation is a scheduling point when its memory is contended (shadow.c). Then it is executed for real, and
 * what it orders is added to the vector clocks: C11 synchronizes-with by release stores, release sequences and
 * fences. The search itself is sequentially consistent: the memory order of an operation is recorded, and a fence is
 * not a scheduling point. */
#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/memory/atomic.h"
#include "runtime/memory/memory.h"

static bool acquires(int mo) {
  return mo == __ATOMIC_ACQUIRE || mo == __ATOMIC_CONSUME || mo >= __ATOMIC_ACQ_REL;
}
static bool releases(int mo) { return mo >= __ATOMIC_RELEASE; }
/* The compilers may add hardware-elision hints above the order. */
static int order(int mo) { return mo & 0x7fff; }
/* The same as the search knows it. */
static unsigned model_order(int mo) {
  static const uint8_t known[] = {
      [__ATOMIC_RELAXED] = HD_MO_RELAXED, [__ATOMIC_CONSUME] = HD_MO_CONSUME,
      [__ATOMIC_ACQUIRE] = HD_MO_ACQUIRE, [__ATOMIC_RELEASE] = HD_MO_RELEASE,
      [__ATOMIC_ACQ_REL] = HD_MO_ACQ_REL, [__ATOMIC_SEQ_CST] = HD_MO_SEQ_CST,
  };
  mo = order(mo);
  return mo >= 0 && mo <= __ATOMIC_SEQ_CST ? known[mo] : HD_MO_SEQ_CST;
}
static unsigned with_order(unsigned flags, int mo) { return flags | HD_A_ORDER(model_order(mo)); }

/* Clocks do not run backwards along any order of accesses, whatever that means for memory. */
static void time_of_load(uint64_t addr) {
  struct hd_obj *o = hd__obj(addr, HD_OBJ_MEMORY);
  uint64_t *now = &rt.cur->vc.time;
  if (o->vc.time > *now) *now = o->vc.time;
  if (*now > o->seen) o->seen = *now;
}

static void time_of_store(uint64_t addr) {
  struct hd_obj *o = hd__obj(addr, HD_OBJ_MEMORY);
  uint64_t *now = &rt.cur->vc.time;
  if (o->vc.time > *now) *now = o->vc.time;
  if (o->seen > *now) *now = o->seen;
  o->vc.time = *now;
}

/* What a location orders is kept by its address. A program that accesses the same bytes as parts and as a whole has
 * several such locations there, of different sizes. */
static HD_EXEC struct {
  uint32_t epoch;
  uint64_t sizes; /* of locations that order something in this execution: a bit each, the size itself */
} locations;

static bool has_other_sizes(uint64_t n) { return locations.epoch == rt.epoch && (locations.sizes & ~n); }

/* Calls f with the other locations that overlap this one. */
static void for_overlapping(uint64_t addr, uint64_t n, int mo, void (*f)(struct hd_obj *o, int mo)) {
  for (uint64_t m = 1; m <= 16; m *= 2) {
    if (m == n || !(locations.sizes & m)) continue;
    for (uint64_t at = addr & ~(m - 1); at < addr + n; at += m) {
      struct hd_obj *o = hd__obj_find(at);
      if (o && o->kind == HD_OBJ_MEMORY && o->count == m) f(o, mo);
    }
  }
}

static void acquire_from(struct hd_obj *o, int mo) {
  if (acquires(mo))
    hd__acquire(&o->vc);
  else
    hd_vc_join(&rt.arena, &rt.cur->fence.acquire, &o->vc);
}

static void after_load(uint64_t addr, uint64_t n, int mo) {
  if (HD_UNLIKELY(rt.clocked)) time_of_load(addr);
  struct hd_obj *o = hd__obj_find(addr);
  if (o && o->kind == HD_OBJ_MEMORY) acquire_from(o, mo);
  if (HD_UNLIKELY(has_other_sizes(n))) for_overlapping(addr, n, mo, acquire_from);
}

/* A store starts a new release sequence; a read-modify-write continues the one it read from. */
static void before_store(uint64_t addr, uint64_t n, int mo, bool rmw) {
  struct hd_thread *t = rt.cur;
  if (HD_UNLIKELY(rt.clocked)) time_of_store(addr);
  if (!releases(mo) && !t->fence.release.n) {
    struct hd_obj *o = rmw ? NULL : hd__obj_find(addr);
    if (o && o->kind == HD_OBJ_MEMORY) hd_vc_clear(&o->vc);
    return;
  }
  struct hd_obj *o = hd__obj(addr, HD_OBJ_MEMORY);
  if (!rmw) hd_vc_clear(&o->vc);
  o->count = (uint32_t)n;
  if (locations.epoch != rt.epoch) locations.sizes = 0;
  locations.epoch = rt.epoch;
  locations.sizes |= n;
  if (releases(mo)) {
    hd_vc_join(&rt.arena, &o->vc, &t->vc);
    hd__new_segment(t);
  } else {
    hd_vc_join(&rt.arena, &o->vc, &t->fence.release);
  }
}

/* A pointer to a block in memory that is accessed atomically may be compared with another (ABA). */
static inline void look_for_pointer(uint64_t a, uint64_t n, uint64_t pc) {
  if (n == 8 && HD_UNLIKELY(hd__heap_owns(*(const uint64_t *)a)) && rt.nunjoined)
    hd__heap_seen(*(const uint64_t *)a, pc);
}

void hd__atomic_load(uint64_t a, uint64_t n, int mo, uint64_t pc) {
  if (!hot.active) return;
  if (!hd__spin_check(a, HD_SPIN_LOADS, pc)) hd__access_slow(a, n, with_order(HD_A_ATOMIC, mo), pc);
  look_for_pointer(a, n, pc);
  after_load(a, n, order(mo));
  HD_SPIN_LEAVE();
}

void hd__atomic_store(uint64_t a, uint64_t n, int mo, uint64_t pc) {
  if (!hot.active) return;
  hd__access_slow(a, n, with_order(HD_A_ATOMIC | HD_A_WRITE, mo), pc);
  before_store(a, n, order(mo), false);
  HD_SPIN_LEAVE();
}

static void rmw(uint64_t a, uint64_t n, unsigned flags, int mo, uint64_t pc) {
  hd__access_slow(a, n, with_order(HD_A_ATOMIC | HD_A_WRITE | HD_A_RMW | flags, mo), pc);
  look_for_pointer(a, n, pc);
  after_load(a, n, order(mo));
  before_store(a, n, order(mo), true);
  HD_SPIN_LEAVE();
}

void hd__atomic_rmw(uint64_t a, uint64_t n, int mo, uint64_t pc) {
  if (hot.active) rmw(a, n, 0, mo, pc);
}

/* An exchange may store what is there already, and wait in that way (test-and-set). */
void hd__atomic_exchange(uint64_t a, uint64_t n, int mo, uint64_t pc) {
  if (!hot.active || hd__spin_check(a, HD_SPIN_UPDATES, pc)) return;
  rmw(a, n, HD_A_NETS, mo, pc);
}

void hd__atomic_exchanged(uint64_t a, uint64_t n, bool same) {
  if (!hot.active) return;
  hd__spin_updated(a, (uint32_t)n, same);
  HD_SPIN_LEAVE();
}

/* Whether it succeeds is known only after the scheduling point. */
void hd__atomic_cas(uint64_t a, uint64_t n, const void *expected, int mo, int fail_mo, uint64_t pc) {
  if (!hot.active) return;
  struct hd_cas cas = {(const void *)a, expected, (unsigned)n, (uint8_t)model_order(fail_mo)};
  if (hd__spin_check(a, HD_SPIN_UPDATES, pc) && !hd__cas_wins(&cas)) return;
  hd__access_cas(a, n, with_order(HD_A_ATOMIC | HD_A_WRITE | HD_A_RMW | HD_A_CAS, mo), pc, &cas);
  look_for_pointer(a, n, pc);
  bool wins = hd__cas_wins(&cas);
  after_load(a, n, order(wins ? mo : fail_mo));
  if (wins) before_store(a, n, order(mo), true);
  HD_SPIN_LEAVE();
}

#define NAME(bits, op) __tsan_atomic##bits##_##op
#define IN(bits, op) HD_IN(__tsan_atomic##bits##_##op)
#define RMW(bits, T, op, builtin)                          \
  HD_EXPORT T NAME(bits, op)(volatile T * a, T v, int mo); \
  T NAME(bits, op)(volatile T * a, T v, int mo) {          \
    hd__atomic_rmw((uint64_t)a, sizeof(T), mo, HD_CALLER); \
    return builtin(a, v, __ATOMIC_SEQ_CST);                \
  }

#define ADDITION(bits, T, op, builtin)                            \
  T IN(bits, op)(volatile T * a, T v, int mo);                    \
  T IN(bits, op)(volatile T * a, T v, int mo) {                   \
    if (v)                                                        \
      hd__atomic_rmw((uint64_t)a, sizeof(T), mo, HD_CALLER);      \
    else                                                          \
      hd__atomic_exchange((uint64_t)a, sizeof(T), mo, HD_CALLER); \
    T old = builtin(a, v, __ATOMIC_SEQ_CST);                      \
    if (!v) hd__atomic_exchanged((uint64_t)a, sizeof(T), true);   \
    return old;                                                   \
  }

/* Those that a loop may wait with: an addition of zero is a way to read. */
#define EXCHANGE(bits, T, op, builtin, expr)                     \
  T IN(bits, op)(volatile T * a, T v, int mo);                   \
  T IN(bits, op)(volatile T * a, T v, int mo) {                  \
    hd__atomic_exchange((uint64_t)a, sizeof(T), mo, HD_CALLER);  \
    T old = builtin(a, v, __ATOMIC_SEQ_CST);                     \
    hd__atomic_exchanged((uint64_t)a, sizeof(T), (expr) == old); \
    return old;                                                  \
  }

#define CAS(bits, T)                                                                   \
  int IN(bits, compare_exchange_strong)(volatile T * a, T * c, T v, int mo, int fmo);  \
  int IN(bits, compare_exchange_weak)(volatile T * a, T * c, T v, int mo, int fmo);    \
  T IN(bits, compare_exchange_val)(volatile T * a, T c, T v, int mo, int fmo);         \
  int IN(bits, compare_exchange_strong)(volatile T * a, T * c, T v, int mo, int fmo) { \
    hd__atomic_cas((uint64_t)a, sizeof(T), c, mo, fmo, HD_CALLER);                     \
    return cas##bits(a, c, v);                                                         \
  }                                                                                    \
  int IN(bits, compare_exchange_weak)(volatile T * a, T * c, T v, int mo, int fmo) {   \
    hd__atomic_cas((uint64_t)a, sizeof(T), c, mo, fmo, HD_CALLER);                     \
    return cas##bits(a, c, v);                                                         \
  }                                                                                    \
  T IN(bits, compare_exchange_val)(volatile T * a, T c, T v, int mo, int fmo) {        \
    hd__atomic_cas((uint64_t)a, sizeof(T), &c, mo, fmo, HD_CALLER);                    \
    cas##bits(a, &c, v);                                                               \
    return c;                                                                          \
  }

#define ALL(bits, T)                                                                    \
  static int cas##bits(volatile T *a, T *c, T v) {                                      \
    return __atomic_compare_exchange_n(a, c, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                     \
  T IN(bits, load)(const volatile T *a, int mo);                                        \
  HD_EXPORT void NAME(bits, store)(volatile T * a, T v, int mo);                        \
  T IN(bits, load)(const volatile T *a, int mo) {                                       \
    hd__atomic_load((uint64_t)a, sizeof(T), mo, HD_CALLER);                             \
    return __atomic_load_n(a, __ATOMIC_SEQ_CST);                                        \
  }                                                                                     \
  void NAME(bits, store)(volatile T * a, T v, int mo) {                                 \
    hd__atomic_store((uint64_t)a, sizeof(T), mo, HD_CALLER);                            \
    __atomic_store_n(a, v, __ATOMIC_SEQ_CST);                                           \
  }                                                                                     \
  EXCHANGE(bits, T, exchange, __atomic_exchange_n, v)                                   \
  ADDITION(bits, T, fetch_add, __atomic_fetch_add)                                      \
  ADDITION(bits, T, fetch_sub, __atomic_fetch_sub)                                      \
  EXCHANGE(bits, T, fetch_and, __atomic_fetch_and, old &v)                              \
  EXCHANGE(bits, T, fetch_or, __atomic_fetch_or, old | v)                               \
  ADDITION(bits, T, fetch_xor, __atomic_fetch_xor)                                      \
  RMW(bits, T, fetch_nand, __atomic_fetch_nand)                                         \
  CAS(bits, T)

ALL(8, uint8_t)
ALL(16, uint16_t)
ALL(32, uint32_t)
ALL(64, uint64_t)

/* ---- 16 bytes ---- */

u128 IN(128, load)(const volatile u128 *a, int mo);
HD_EXPORT void __tsan_atomic128_store(volatile u128 *a, u128 v, int mo);
u128 IN(128, load)(const volatile u128 *a, int mo) {
  hd__atomic_load((uint64_t)a, 16, mo, HD_CALLER);
  return load128(a);
}
void __tsan_atomic128_store(volatile u128 *a, u128 v, int mo) {
  hd__atomic_store((uint64_t)a, 16, mo, HD_CALLER);
  exchange128(a, v);
}

#define RMW128(op, expr)                                                  \
  HD_EXPORT u128 __tsan_atomic128_##op(volatile u128 *a, u128 v, int mo); \
  u128 __tsan_atomic128_##op(volatile u128 *a, u128 v, int mo) {          \
    hd__atomic_rmw((uint64_t)a, 16, mo, HD_CALLER);                       \
    u128 c = load128(a);                                                  \
    while (!cas128(a, &c, (expr)))                                        \
      ;                                                                   \
    return c;                                                             \
  }

RMW128(exchange, v)
RMW128(fetch_add, c + v)
RMW128(fetch_sub, c - v)
RMW128(fetch_and, c &v)
RMW128(fetch_or, c | v)
RMW128(fetch_xor, c ^ v)
RMW128(fetch_nand, ~(c &v))
CAS(128, u128)

/* ---- fences ---- */

HD_EXPORT void __tsan_atomic_thread_fence(int mo);
HD_EXPORT void __tsan_atomic_signal_fence(int mo);

void __tsan_atomic_thread_fence(int mo) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  if (!hot.active) return;
  if (HD_UNLIKELY(hot.log)) hd__record_access(HD_OP_FENCE, 0, 0, HD_EV_PLAIN, model_order(mo), HD_CALLER);
  mo = order(mo);
  struct hd_thread *t = rt.cur;
  if (acquires(mo)) hd__acquire(&t->fence.acquire);
  if (releases(mo)) {
    hd_vc_copy(&rt.arena, &t->fence.release, &t->vc);
    hd__new_segment(t);
  }
}

void __tsan_atomic_signal_fence(int mo) {
  (void)mo;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
