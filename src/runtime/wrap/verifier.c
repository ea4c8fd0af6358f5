/* verifier.c: functions of software verification: __VERIFIER_nondet_*, assumptions, atomic sections, errors. Runs
 * in the tested process.
 *
 * Programs written for verifiers (SV-COMP) declare these and do not define them. A program that defines one gets
 * its own. Truth values are choices, so both are tried. For wider types a few values are tried, the small and the
 * extreme ones; such a search is not complete (HD_INEXACT_VALUES). In a search of inputs, integers and pointers are inputs. Outside a controlled run the program gets 0
 * everywhere. */
#include <float.h>
#include <limits.h>
#include <stdlib.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/symbolic/inputs.h"
#include "runtime/wrap/wrap.h"

/* One of n values. */
static unsigned pick(unsigned n, uint64_t pc) {
  if (!hot.active) return 0;
  if (n > 2) hd__inexact(HD_INEXACT_VALUES, pc);
  return (unsigned)hd__choose_here(n, pc);
}

#define NONDET(T, name, ...)                                                 \
  HD_EXPORT T __VERIFIER_nondet_##name(void);                                \
  T __VERIFIER_nondet_##name(void) {                                         \
    static T const value[] = {__VA_ARGS__};                                  \
    return value[pick((unsigned)(sizeof value / sizeof *value), HD_CALLER)]; \
  }
/* An integer or pointer: an input, in a search of inputs. */
#define INTEGER(T, name, flags, lo, hi, ...)                                           \
  HD_EXPORT T __VERIFIER_nondet_##name(void);                                          \
  T __VERIFIER_nondet_##name(void) {                                                   \
    static T const value[] = {__VA_ARGS__};                                            \
    if (hot.active && rt.config->symbolic)                                             \
      return (T)hd__input_value(sizeof(T), "nondet_" #name, flags, lo, hi, HD_CALLER); \
    return value[pick((unsigned)(sizeof value / sizeof *value), HD_CALLER)];           \
  }
#define SIGNED(T, name, lowest, highest) INTEGER(T, name, HD_INPUT_SIGNED, 0, 0, 0, 1, -1, highest, lowest)
#define UNSIGNED(T, name) INTEGER(T, name, 0, 0, 0, 0, 1, 2, (T) ~(T)0)

INTEGER(_Bool, bool, HD_INPUT_RANGE, 0, 1, 0, 1)
INTEGER(_Bool, _Bool, HD_INPUT_RANGE, 0, 1, 0, 1)
SIGNED(char, char, CHAR_MIN, CHAR_MAX)
SIGNED(signed char, schar, SCHAR_MIN, SCHAR_MAX)
UNSIGNED(unsigned char, uchar)
UNSIGNED(unsigned char, unsigned_char)
SIGNED(short, short, SHRT_MIN, SHRT_MAX)
UNSIGNED(unsigned short, ushort)
UNSIGNED(unsigned short, unsigned_short)
SIGNED(int, int, INT_MIN, INT_MAX)
UNSIGNED(unsigned, uint)
UNSIGNED(unsigned, unsigned)
UNSIGNED(unsigned, unsigned_int)
SIGNED(long, long, LONG_MIN, LONG_MAX)
UNSIGNED(unsigned long, ulong)
UNSIGNED(unsigned long, unsigned_long)
SIGNED(long long, longlong, LLONG_MIN, LLONG_MAX)
UNSIGNED(unsigned long long, ulonglong)
SIGNED(int8_t, s8, INT8_MIN, INT8_MAX)
SIGNED(int16_t, s16, INT16_MIN, INT16_MAX)
SIGNED(int32_t, s32, INT32_MIN, INT32_MAX)
SIGNED(int64_t, s64, INT64_MIN, INT64_MAX)
UNSIGNED(uint8_t, u8)
UNSIGNED(uint16_t, u16)
UNSIGNED(uint32_t, u32)
UNSIGNED(uint64_t, u64)
UNSIGNED(size_t, size_t)
SIGNED(long long, loff_t, LLONG_MIN, LLONG_MAX)
UNSIGNED(unsigned long, sector_t)
NONDET(float, float, 0, 1, -1, FLT_MAX, -FLT_MAX)
NONDET(double, double, 0, 1, -1, DBL_MAX, -DBL_MAX)
INTEGER(void *, pointer, 0, 0, 0, NULL, (void *)16, (void *)-16)
INTEGER(char *, pchar, 0, 0, 0, NULL, (char *)16, (char *)-16)

HD_EXPORT void __VERIFIER_assume(int c);
void __VERIFIER_assume(int c) {
  if (c) return;
  if (!hot.active) {
    real_exit(0); /* an assumption does not hold: this run does not count */
    __builtin_unreachable();
  }
  hd__assume_failed();
}

void HD_IN(__VERIFIER_atomic_begin)(void);
void HD_IN(__VERIFIER_atomic_begin)(void) {
  if (hot.active) hd__atomic_begin(HD_CALLER);
}

HD_EXPORT void __VERIFIER_atomic_end(void);
void __VERIFIER_atomic_end(void) {
  if (hot.active) hd__atomic_end(HD_CALLER);
}

_Noreturn static void error(const char *text, uint64_t pc) {
  if (!hot.active) {
    real_abort();
    __builtin_unreachable();
  }
  hd__report_simple(HD_KIND_ASSERTION, 0, pc, text, true);
  __builtin_unreachable();
}

HD_EXPORT void __VERIFIER_error(void);
void __VERIFIER_error(void) { error("__VERIFIER_error() was called", HD_CALLER); }

HD_EXPORT void reach_error(void);
void reach_error(void) { error("reach_error() was called", HD_CALLER); }
