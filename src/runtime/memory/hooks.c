/* hooks.c: the hooks that the compilers' thread sanitizer instrumentation calls: memory accesses and function
 * entries. Runs in the tested process. hooks_atomic.c has the atomic operations.
 *
 * The fast path decides Heddle's speed: an access that this thread has already made in this segment costs one load
 * and one comparison (shadow.c, invariant 2). */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"

static inline __attribute__((always_inline)) void access_fast(uint64_t addr, unsigned size, bool write,
                                                              uint64_t pc) {
  uint64_t tag = hot.tag;
  if (HD_UNLIKELY(!tag)) return; /* not active */
  const struct hd_cell *c = hd__cell(addr);
  /* These hooks are for aligned addresses: 8 bytes fill the granule. */
  uint64_t mask = size == 8 ? 0xff : ((1ull << size) - 1) << (addr & 7);
  uint64_t care = ~0xffull | mask, want = tag | mask;
  if (!write && HD_LIKELY((c->r & care) == want)) return;
  if (HD_LIKELY((c->w & care) == want)) return;
  if (!write && HD_UNLIKELY((c->wpc & HD_CELL_VISIBLE) || rt.watched))
    hd_arch_watched_read(addr, size, 0, pc);
  else
    hd__access_slow(addr, size, write ? HD_A_WRITE : 0, pc);
}

/* A read that may be that of a waiting loop. It comes with the registers of the caller. */
void hd__watched_read(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (HD_UNLIKELY(rt.watched)) hot.tag = rt.cur->tag;
  if (!hd__spin_check(addr, HD_SPIN_READS, pc)) hd__access_slow(addr, size, flags, pc);
  if (HD_UNLIKELY(rt.watched) && --rt.watched)
    hd__new_segment(rt.cur); /* the next read reaches this function too */
  HD_SPIN_LEAVE();
}

static inline void access_any(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (!hot.active || !size) return;
  if (flags == HD_A_VOLATILE && hd__spin_check(addr, HD_SPIN_READS, pc)) return;
  hd__access_slow(addr, size, flags, pc);
}

/* Two words at once, or a word that is not aligned: vectorised code does this. */
static inline __attribute__((always_inline)) void access_wide(uint64_t addr, unsigned size, bool write,
                                                              uint64_t pc) {
  if (HD_UNLIKELY(!hot.active)) return;
  const struct hd_cell *c = hd__cell(addr), *d = hd__cell(addr + size - 1);
  unsigned off = addr & 7;
  uint64_t first = (0xffull << off) & 0xff, last = 0xffull >> (7 - ((addr + size - 1) & 7));
  if (c == d) first &= last;
  uint64_t want = hot.tag;
  bool hit = (c->w & (~0xffull | first)) == (want | first) ||
             (!write && (c->r & (~0xffull | first)) == (want | first));
  if (HD_LIKELY(hit) && d != c) {
    hit = (d->w & (~0xffull | last)) == (want | last) ||
          (!write && (d->r & (~0xffull | last)) == (want | last));
    if (hit && HD_UNLIKELY(d - c > 1)) /* 16 unaligned bytes touch three granules */
      hit = c[1].w == (want | 0xff) || (!write && c[1].r == (want | 0xff));
  }
  if (HD_LIKELY(hit)) return;
  hd__access_slow(addr, size, write ? HD_A_WRITE : 0, pc);
}

#define U(p) ((uint64_t)(p))
#define HOOK(n)                                                                                   \
  HD_EXPORT void __tsan_read##n(void *p);                                                         \
  HD_EXPORT void __tsan_write##n(void *p);                                                        \
  HD_EXPORT void __tsan_read_write##n(void *p);                                                   \
  HD_EXPORT void __tsan_read##n##_pc(void *p, void *pc);                                          \
  HD_EXPORT void __tsan_write##n##_pc(void *p, void *pc);                                         \
  void HD_IN(__tsan_volatile_read##n)(void *p);                                                   \
  HD_EXPORT void __tsan_volatile_write##n(void *p);                                               \
  void __tsan_read##n(void *p) { access_fast(U(p), n, false, HD_CALLER); }                        \
  void __tsan_write##n(void *p) { access_fast(U(p), n, true, HD_CALLER); }                        \
  void __tsan_read_write##n(void *p) {                                                            \
    access_fast(U(p), n, false, HD_CALLER);                                                       \
    access_fast(U(p), n, true, HD_CALLER);                                                        \
  }                                                                                               \
  void __tsan_read##n##_pc(void *p, void *pc) { access_fast(U(p), n, false, U(pc)); }             \
  void __tsan_write##n##_pc(void *p, void *pc) { access_fast(U(p), n, true, U(pc)); }             \
  void HD_IN(__tsan_volatile_read##n)(void *p) { access_any(U(p), n, HD_A_VOLATILE, HD_CALLER); } \
  void __tsan_volatile_write##n(void *p) { access_any(U(p), n, HD_A_WRITE | HD_A_VOLATILE, HD_CALLER); }

HOOK(1)
HOOK(2)
HOOK(4)
HOOK(8)

#define HOOK_SLOW(name, n, flags)           \
  HD_EXPORT void __tsan_##name##n(void *p); \
  void __tsan_##name##n(void *p) { access_any(U(p), n, flags, HD_CALLER); }

#define HOOK_WIDE(name, n, write)           \
  HD_EXPORT void __tsan_##name##n(void *p); \
  void __tsan_##name##n(void *p) { access_wide(U(p), n, write, HD_CALLER); }

HOOK_WIDE(read, 16, false)
HOOK_WIDE(write, 16, true)
HOOK_SLOW(volatile_write, 16, HD_A_WRITE | HD_A_VOLATILE)

void HD_IN(__tsan_volatile_read16)(void *p);
void HD_IN(__tsan_volatile_read16)(void *p) { access_any(U(p), 16, HD_A_VOLATILE, HD_CALLER); }

#define HOOK_UNALIGNED(n)                                                                                   \
  HOOK_WIDE(unaligned_read, n, false)                                                                       \
  HOOK_WIDE(unaligned_write, n, true)                                                                       \
  void HD_IN(__tsan_unaligned_volatile_read##n)(void *p);                                                   \
  void HD_IN(__tsan_unaligned_volatile_read##n)(void *p) { access_any(U(p), n, HD_A_VOLATILE, HD_CALLER); } \
  HOOK_SLOW(unaligned_volatile_write, n, HD_A_WRITE | HD_A_VOLATILE)                                        \
  HD_EXPORT void __tsan_unaligned_read_write##n(void *p);                                                   \
  void __tsan_unaligned_read_write##n(void *p) {                                                            \
    access_any(U(p), n, 0, HD_CALLER);                                                                      \
    access_any(U(p), n, HD_A_WRITE, HD_CALLER);                                                             \
  }

HOOK_UNALIGNED(2)
HOOK_UNALIGNED(4)
HOOK_UNALIGNED(8)
HOOK_UNALIGNED(16)

HD_EXPORT void __tsan_read_write16(void *p);
void __tsan_read_write16(void *p) {
  access_any(U(p), 16, 0, HD_CALLER);
  access_any(U(p), 16, HD_A_WRITE, HD_CALLER);
}

#define RANGE_MAX 65536 /* bytes; the test ends at the first cell that is not known */

/* Whether all cells of the range have this access already. */
static inline bool range_known(uint64_t addr, uint64_t size, bool write) {
  const struct hd_cell *c = hd__cell(addr), *last = hd__cell(addr + size - 1);
  uint64_t mask = (0xffull << (addr & 7)) & 0xff;
  for (;; c++, mask = 0xff) {
    if (c == last) mask &= 0xffull >> (7 - ((addr + size - 1) & 7));
    uint64_t care = ~0xffull | mask, want = hot.tag | mask;
    if ((c->w & care) != want && (write || (c->r & care) != want)) return false;
    if (c == last) return true;
  }
}

void hd__access_range(uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  if (!hot.active || !size) return;
  if (size <= RANGE_MAX && range_known(addr, size, flags & HD_A_WRITE)) return;
  hd__access_slow(addr, size, flags, pc);
}

HD_EXPORT void __tsan_read_range(void *p, uint64_t n);
HD_EXPORT void __tsan_write_range(void *p, uint64_t n);
HD_EXPORT void __tsan_read_range_pc(void *p, uint64_t n, void *pc);
HD_EXPORT void __tsan_write_range_pc(void *p, uint64_t n, void *pc);
void __tsan_read_range(void *p, uint64_t n) { hd__access_range(U(p), n, 0, HD_CALLER); }
void __tsan_write_range(void *p, uint64_t n) { hd__access_range(U(p), n, HD_A_WRITE, HD_CALLER); }
void __tsan_read_range_pc(void *p, uint64_t n, void *pc) { hd__access_range(U(p), n, 0, U(pc)); }
void __tsan_write_range_pc(void *p, uint64_t n, void *pc) { hd__access_range(U(p), n, HD_A_WRITE, U(pc)); }

/* A constructor or destructor sets the vtable pointer of an object; storing the same value again changes nothing. */
HD_EXPORT void __tsan_vptr_update(void **vptr, void *value);
void __tsan_vptr_update(void **vptr, void *value) {
  if (*vptr != value) access_fast(U(vptr), 8, true, HD_CALLER);
}
HD_EXPORT void __tsan_vptr_read(void **vptr);
void __tsan_vptr_read(void **vptr) { access_fast(U(vptr), 8, false, HD_CALLER); }

/* ---- the call stack ---- */

/* Every block of the program, if it was built with `heddle cc --branches`. */
HD_EXPORT void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
  if (HD_UNLIKELY(hot.active && hot.log)) hd__record_branch(HD_CALLER);
}

HD_EXPORT void __tsan_func_entry(void *pc);
HD_EXPORT void __tsan_func_exit(void);

void __tsan_func_entry(void *pc) {
  if (HD_UNLIKELY(!hot.active)) return;
  struct hd_call *f = hot.call;
  uint64_t sp = U(__builtin_frame_address(0));
  /* Entries that a longjmp or an exception left behind have a smaller stack pointer. */
  while (HD_UNLIKELY(f > rt.cur->calls && f[-1].sp <= sp)) f--;
  if (HD_UNLIKELY(sp < hot.stack_limit)) hd__report_overflow(U(pc));
  if (HD_UNLIKELY(f == hot.call_end)) {
    rt.cur->lost_calls++;
    return;
  }
  f->pc = U(pc);
  f->sp = sp;
  hot.call = f + 1;
}

void __tsan_func_exit(void) {
  if (HD_UNLIKELY(!hot.active)) return;
  if (HD_UNLIKELY(rt.cur->lost_calls)) {
    rt.cur->lost_calls--;
    return;
  }
  if (HD_LIKELY(hot.call > rt.cur->calls)) hot.call--;
}
