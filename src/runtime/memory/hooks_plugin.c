/* hooks_plugin.c: accesses that Heddle's plug-ins for the compilers (src/plugin) make visible. Runs in the tested
 * process. */
#include "runtime/core/core.h"
#include "runtime/core/family.h"
#include "runtime/core/spin.h"
#include "runtime/core/finding.h"
#include "runtime/memory/atomic.h"
#include "runtime/memory/memory.h"

/* Who calls the constructor of ThreadSanitizer was instrumented without a plug-in: not all its accesses are seen. */
static uint64_t without_plugin;
static unsigned instrumented; /* object files */

HD_EXPORT void __tsan_init(void);
HD_EXPORT void __heddle_init(void);
void __tsan_init(void) { without_plugin = HD_CALLER; }
void __heddle_init(void) { instrumented++; }

uint64_t hd__without_plugin(void) { return without_plugin; }

unsigned hd__instrumented(void) { return instrumented; }

/* The constructor that `heddle cc` adds to a program, or a library, with object files that it did not build. */
static uint64_t plain_object;

HD_EXPORT void __heddle_plain_object(void (*within)(void));
void __heddle_plain_object(void (*within)(void)) { plain_object = (uint64_t)within; }

uint64_t hd__plain_object(void) { return plain_object; }

/* ---- vectors ---- */

/* Lanes of `size` bytes, one after the other, of which those are accessed whose bit is set. Neighbours are one access. */
static void masked(uint64_t p, uint64_t size, uint64_t mask, unsigned flags, uint64_t pc) {
  if (!hot.active) return;
  while (mask) {
    unsigned first = (unsigned)__builtin_ctzll(mask);
    uint64_t rest = ~(mask >> first);
    unsigned n = rest ? (unsigned)__builtin_ctzll(rest) : 64;
    hd__access_range(p + first * size, n * size, flags, pc);
    if (first + n >= 64) return;
    mask = mask >> (first + n) << (first + n);
  }
}

HD_EXPORT void __heddle_masked_read(void *p, uint64_t size, uint64_t mask);
HD_EXPORT void __heddle_masked_write(void *p, uint64_t size, uint64_t mask);
void __heddle_masked_read(void *p, uint64_t size, uint64_t mask) {
  masked((uint64_t)p, size, mask, 0, HD_CALLER);
}
void __heddle_masked_write(void *p, uint64_t size, uint64_t mask) {
  masked((uint64_t)p, size, mask, HD_A_WRITE, HD_CALLER);
}

/* The mask is a vector of `n` bytes at `signs`: a lane is accessed when its highest bit is set. */
static void by_signs(uint64_t p, uint64_t size, const char *signs, uint64_t n, unsigned flags, uint64_t pc) {
  uint64_t mask = 0;
  for (uint64_t i = 0; i < n / size; i++)
    if (signs[(i + 1) * size - 1] < 0) mask |= 1ull << i;
  masked(p, size, mask, flags, pc);
}

HD_EXPORT void __heddle_signed_read(void *p, uint64_t size, const char *signs, uint64_t n);
HD_EXPORT void __heddle_signed_write(void *p, uint64_t size, const char *signs, uint64_t n);
void __heddle_signed_read(void *p, uint64_t size, const char *signs, uint64_t n) {
  by_signs((uint64_t)p, size, signs, n, 0, HD_CALLER);
}
void __heddle_signed_write(void *p, uint64_t size, const char *signs, uint64_t n) {
  by_signs((uint64_t)p, size, signs, n, HD_A_WRITE, HD_CALLER);
}

/* ---- volatile accesses of a size that has no hook of its own ---- */

HD_EXPORT void __heddle_volatile_read(void *p, uint64_t n);
HD_EXPORT void __heddle_volatile_write(void *p, uint64_t n);
void __heddle_volatile_read(void *p, uint64_t n) {
  if (hot.active) hd__access_slow((uint64_t)p, n, HD_A_VOLATILE, HD_CALLER);
}
void __heddle_volatile_write(void *p, uint64_t n) {
  if (hot.active) hd__access_slow((uint64_t)p, n, HD_A_WRITE | HD_A_VOLATILE, HD_CALLER);
}

/* ---- functions that want no reports ---- */

/* Encloses the hooks of such a function. */
HD_EXPORT void __heddle_silence(int on);
void __heddle_silence(int on) {
  if (hot.active) rt.cur->silent = on;
}

/* ---- inline assembly ---- */

void HD_IN(__heddle_asm_read)(void *p, uint64_t n);
HD_EXPORT void __heddle_asm_write(void *p, uint64_t n);
void HD_IN(__heddle_asm_atomic)(void *p, uint64_t n);
HD_EXPORT void __heddle_asm_opaque(void);
void HD_IN(__heddle_asm_read)(void *p, uint64_t n) {
  if (!hot.active || !n) return;
  if (!hd__spin_check((uint64_t)p, HD_SPIN_READS, HD_CALLER)) hd__access_slow((uint64_t)p, n, 0, HD_CALLER);
  HD_SPIN_LEAVE();
}
void __heddle_asm_write(void *p, uint64_t n) { hd__access_range((uint64_t)p, n, HD_A_WRITE, HD_CALLER); }
/* A locked instruction is a full fence. */
void HD_IN(__heddle_asm_atomic)(void *p, uint64_t n) {
  hd__atomic_exchange((uint64_t)p, n, __ATOMIC_SEQ_CST, HD_CALLER);
  if (hot.active) hd__spin_updates((uint64_t)p, (uint32_t)n, HD_CALLER);
}
/* Assembly, or an intrinsic, that has a pointer and may access any memory. */
void __heddle_asm_opaque(void) {
  if (hot.active && rt.nunjoined) hd__inexact(HD_INEXACT_ASSEMBLY, HD_CALLER);
}

/* ---- addresses ---- */

/* The program computes with an address, */
HD_EXPORT void __heddle_address(const void *p);
/* or compares two for order. */
HD_EXPORT void __heddle_addresses(const void *p, const void *q);
void __heddle_address(const void *p) {
  if (hot.active && rt.search.alike) hd__family_address((uint64_t)p);
}
void __heddle_addresses(const void *p, const void *q) {
  if (hot.active && rt.search.alike) hd__family_addresses((uint64_t)p, (uint64_t)q);
}
