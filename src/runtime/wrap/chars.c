/* chars.c: conversions of floating-point numbers and pools of memory in the shared library of libstdc++. Runs in the tested
 * process.
 *
 * These functions are compiled without hooks. What they write and read of the program's memory counts as accessed by the
 * caller; a pool counts as written by each call. They have the symbol versions of the originals. */
#include <dlfcn.h>

#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/wrap/access.h"

#define CXX(ret, name, symbol, version, params)    \
  HD_EXPORT ret hd_rt_##name params;               \
  HD_STANDS_FOR(hd_rt_##name, symbol "@" version); \
  ret hd_rt_##name params
#define ORIGINAL(symbol, ret, params) \
  static ret(*real) params;           \
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, symbol)

/* ---- std::to_chars and std::from_chars ---- */

struct converted { /* std::to_chars_result and std::from_chars_result */
  char *end;
  int error;
};

#define TO_CHARS(name, symbol, params, args)                                                \
  CXX(struct converted, name, symbol, "GLIBCXX_3.4.29", params) {                           \
    ORIGINAL(symbol, struct converted, params);                                             \
    struct converted r = real args;                                                         \
    if (hot.active && !r.error && r.end > d) hd__writes(d, (size_t)(r.end - d), HD_CALLER); \
    return r;                                                                               \
  }
#define FROM_CHARS(name, symbol, type)                                                       \
  CXX(struct converted, name, symbol, "GLIBCXX_3.4.29",                                      \
      (const char *s, const char *end, type *v, int format)) {                               \
    ORIGINAL(symbol, struct converted, (const char *, const char *, type *, int));           \
    struct converted r = real(s, end, v, format);                                            \
    if (hot.active && s < end) hd__reads(s, (size_t)(r.end - s) + (r.end < end), HD_CALLER); \
    if (hot.active && !r.error) hd__writes(v, sizeof *v, HD_CALLER);                         \
    return r;                                                                                \
  }
#define CONVERSIONS(type, letter)                                                                       \
  TO_CHARS(to_chars_##letter, "_ZSt8to_charsPcS_" #letter, (char *d, char *last, type x), (d, last, x)) \
  TO_CHARS(to_chars_format_##letter, "_ZSt8to_charsPcS_" #letter "St12chars_format",                    \
           (char *d, char *last, type x, int format), (d, last, x, format))                             \
  TO_CHARS(to_chars_precise_##letter, "_ZSt8to_charsPcS_" #letter "St12chars_formati",                  \
           (char *d, char *last, type x, int format, int digits), (d, last, x, format, digits))         \
  FROM_CHARS(from_chars_##letter, "_ZSt10from_charsPKcS0_R" #letter "St12chars_format", type)
CONVERSIONS(float, f)
CONVERSIONS(double, d)
CONVERSIONS(long double, e)

/* ---- std::pmr: resources that threads may not share ---- */

/* Behind the vtable. The resource may be called by another function of the library. */
static void changes(char *resource, uint64_t pc) {
  if (hot.active)
    hd__writes(resource + sizeof(void *), sizeof(void *), hd__user_text(pc) ? pc : hd__innermost());
}

CXX(void *, pool_allocate, "_ZNSt3pmr28unsynchronized_pool_resource11do_allocateEmm", "GLIBCXX_3.4.26",
    (char *resource, size_t n, size_t align)) {
  ORIGINAL("_ZNSt3pmr28unsynchronized_pool_resource11do_allocateEmm", void *, (char *, size_t, size_t));
  changes(resource, HD_CALLER);
  return real(resource, n, align);
}

CXX(void, pool_deallocate, "_ZNSt3pmr28unsynchronized_pool_resource13do_deallocateEPvmm", "GLIBCXX_3.4.26",
    (char *resource, void *p, size_t n, size_t align)) {
  ORIGINAL("_ZNSt3pmr28unsynchronized_pool_resource13do_deallocateEPvmm", void,
           (char *, void *, size_t, size_t));
  changes(resource, HD_CALLER);
  real(resource, p, n, align);
}

CXX(void, new_buffer, "_ZNSt3pmr25monotonic_buffer_resource13_M_new_bufferEmm", "GLIBCXX_3.4.26",
    (char *resource, size_t n, size_t align)) {
  ORIGINAL("_ZNSt3pmr25monotonic_buffer_resource13_M_new_bufferEmm", void, (char *, size_t, size_t));
  changes(resource, HD_CALLER);
  real(resource, n, align);
}
