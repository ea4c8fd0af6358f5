/* text.c: searching, splitting and converting strings, and wide strings. Runs in the tested process. Like string.c, these
 * functions access what they read and write; each is one read and one write. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <wchar.h>

#include "runtime/core/fingerprint.h"
#include "runtime/symbolic/library.h"
#include "runtime/wrap/access.h"

/* ---- blocks and strings ---- */

/* The same place in the program's memory. */
static void *there(const void *s, struct hd_held h, const char *found) {
  return found ? (char *)(uintptr_t)s + (found - h.at) : NULL;
}

/* What is looked for. */
struct wanted {
  int c;
  const char *t;
  size_t n, m; /* of the memory to look in, and of t */
};

static size_t to_byte(const char *s, const void *arg) {
  const struct wanted *w = arg;
  const char *r = real_memchr(s, w->c, w->n);
  return r ? (size_t)(r - s) + 1 : w->n;
}
static size_t to_any_byte(const char *s, const void *arg) {
  return (size_t)((char *)real_rawmemchr(s, ((const struct wanted *)arg)->c) - s) + 1;
}
static size_t to_character(const char *s, const void *arg) {
  return (size_t)(real_strchrnul(s, ((const struct wanted *)arg)->c) - s) + 1;
}
static size_t to_block(const char *s, const void *arg) {
  const struct wanted *w = arg;
  const char *r = real_memmem(s, w->n, w->t, w->m);
  return r ? (size_t)(r - s) + w->m : w->n;
}
static size_t past_these(const char *s, const void *arg) {
  return real_strspn(s, ((const struct wanted *)arg)->t) + 1;
}
static size_t to_these(const char *s, const void *arg) {
  return real_strcspn(s, ((const struct wanted *)arg)->t) + 1;
}

HD_EXPORT void *memccpy(void *restrict d, const void *restrict s, int c, size_t n) {
  hd__real_init();
  if (!hot.active) return real_memccpy(d, s, c, n);
  struct hd_held h = hd__hold(s, to_byte, &(struct wanted){.c = c, .n = n}, HD_CALLER);
  WRITES(d, h.n);
  return real_memccpy(d, h.at, c, h.n);
}

/* It is read from its end. */
HD_EXPORT void *memrchr(const void *s, int c, size_t n) {
  hd__real_init();
  void *r = real_memrchr(s, c, n);
  if (!hot.active) return r;
  const char *from = r ? r : s;
  struct hd_held h = hd__hold_bytes(from, (size_t)((const char *)s + n - from), HD_CALLER);
  r = there(from, h, real_memrchr(h.at, c, h.n));
  return r || from == s ? r : memrchr(s, c, (size_t)(from - (const char *)s));
}

HD_EXPORT void *memmem(const void *s, size_t n, const void *t, size_t m) {
  hd__real_init();
  if (!hot.active) return real_memmem(s, n, t, m);
  t = hd__hold_bytes(t, m, HD_CALLER).at;
  struct hd_held h = hd__hold(s, to_block, &(struct wanted){.t = t, .n = n, .m = m}, HD_CALLER);
  return there(s, h, real_memmem(h.at, h.n, t, m));
}

char *hd__find_text(const char *s, const char *t, bool fold, uint64_t pc) {
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold_string(s, SIZE_MAX, pc);
  if (keep) hd__keep_end();
  struct hd_held w = hd__hold_string(t, SIZE_MAX, pc);
  if (keep && h.at == s) hd__library_find(s, h.n, w.at, w.n - 1, true, fold, pc);
  if (keep && h.at != s) hd__symbolic_reads(s, h.n, pc); /* others ran in between */
  return there(s, h, fold ? real_strcasestr(h.at, w.at) : real_strstr(h.at, w.at));
}

HD_EXPORT void *rawmemchr(const void *s, int c) {
  hd__real_init();
  if (!hot.active) return real_rawmemchr(s, c);
  struct hd_held h = hd__hold(s, to_any_byte, &(struct wanted){.c = c}, HD_CALLER);
  return there(s, h, real_rawmemchr(h.at, c));
}

HD_EXPORT char *strchrnul(const char *s, int c) {
  hd__real_init();
  if (!hot.active) return real_strchrnul(s, c);
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold(s, to_character, &(struct wanted){.c = c}, HD_CALLER);
  if (keep) hd__keep_end(), hd__library_search(s, h.n, c, true, HD_CALLER);
  return there(s, h, real_strchrnul(h.at, c));
}

HD_EXPORT char *stpncpy(char *restrict d, const char *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) {
    s = hd__hold_string(s, n, HD_CALLER).at;
    WRITES(d, n);
  }
  return real_stpncpy(d, s, n);
}

/* Functions that search a string for characters of another; `ends`: it matters whether it ended before one. */
#define SEARCH(ret, name, measure, outside, ends, result)                         \
  HD_EXPORT ret name(const char *s, const char *t) {                              \
    hd__real_init();                                                              \
    if (!hot.active) return real_##name(s, t);                                    \
    t = hd__hold_string(t, SIZE_MAX, HD_CALLER).at;                               \
    bool keep = hd__keep_begin();                                                 \
    struct hd_held h = hd__hold(s, measure, &(struct wanted){.t = t}, HD_CALLER); \
    if (keep) hd__keep_end(), hd__library_span(s, h.n, t, outside, HD_CALLER);    \
    if (keep && ends) hd__library_string(s + h.n - 1, 1, HD_CALLER);              \
    return result;                                                                \
  }
SEARCH(size_t, strspn, past_these, false, false, real_strspn(h.at, t))
SEARCH(size_t, strcspn, to_these, true, false, real_strcspn(h.at, t))
SEARCH(char *, strpbrk, to_these, true, true, there(s, h, real_strpbrk(h.at, t)))

HD_EXPORT char *strcasestr(const char *s, const char *t) {
  hd__real_init();
  if (!hot.active) return real_strcasestr(s, t);
  return hd__find_text(s, t, true, HD_CALLER);
}

HD_EXPORT int strcoll(const char *s, const char *t) {
  hd__real_init();
  s = READS_STRING(s);
  t = READS_STRING(t);
  LOCALE;
  return real_strcoll(s, t);
}

HD_EXPORT size_t strxfrm(char *restrict d, const char *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) {
    s = READS_STRING(s);
    LOCALE;
    size_t k = real_strxfrm(NULL, s, 0) + 1;
    WRITES(d, k < n ? k : n);
  }
  return real_strxfrm(d, s, n);
}

/* ---- splitting: a delimiter is overwritten ---- */

static size_t token_bytes(const char *s, const void *delimiters) {
  size_t n = real_strspn(s, delimiters);
  return n + real_strcspn(s + n, delimiters) + 1;
}

/* Returns the token of s, or NULL. `rest`: what is behind it. */
static char *split(char *s, const char *delimiters, char **rest, uint64_t pc) {
  delimiters = hd__reads_string(delimiters, pc);
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold(s, token_bytes, delimiters, pc);
  size_t from = real_strspn(h.at, delimiters), end = h.n - 1;
  if (keep) {
    hd__keep_end();
    hd__library_span(s, from + 1, delimiters, false, pc);
    hd__library_span(s + from, h.n - from, delimiters, true, pc);
    hd__library_string(s + end, 1, pc);
  }
  bool more = h.at[end];
  *rest = s + end;
  if (from == end) return NULL;
  if (more) {
    hd__writes(s + end, 1, pc);
    s[end] = 0;
    ++*rest;
  }
  return s + from;
}

HD_EXPORT char *strtok_r(char *restrict s, const char *restrict delimiters, char **restrict state) {
  hd__real_init();
  if (!hot.active) return real_strtok_r(s, delimiters, state);
  if (!s) {
    READS(state, sizeof *state);
    s = *state;
  }
  char *rest, *r = split(s, delimiters, &rest, HD_CALLER);
  WRITES(state, sizeof *state);
  *state = rest;
  return r;
}

/* libc keeps the rest of the string in a variable of its own, which has no lock. */
static HD_EXEC char *strtok_rest;

HD_EXPORT char *strtok(char *restrict s, const char *restrict delimiters) {
  hd__real_init();
  if (!hot.active) return real_strtok(s, delimiters);
  hd__uncaptured(HD_UNCAPTURED_LIBRARY);
  static HD_EXEC uint32_t epoch;
  if (epoch != rt.epoch) strtok_rest = NULL;
  epoch = rt.epoch;
  if (!s) {
    READS(&strtok_rest, sizeof strtok_rest);
    s = strtok_rest;
  }
  char *rest = NULL, *r = s ? split(s, delimiters, &rest, HD_CALLER) : NULL;
  WRITES(&strtok_rest, sizeof strtok_rest);
  strtok_rest = rest;
  return r;
}

HD_EXPORT char *strsep(char **restrict s, const char *restrict delimiters) {
  hd__real_init();
  if (!hot.active) return real_strsep(s, delimiters);
  READS(s, sizeof *s);
  char *r = *s, *rest = NULL;
  if (!r) return NULL;
  delimiters = READS_STRING(delimiters);
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold(r, to_these, &(struct wanted){.t = delimiters}, HD_CALLER);
  if (keep) {
    hd__keep_end();
    hd__library_span(r, h.n, delimiters, true, HD_CALLER);
    hd__library_string(r + h.n - 1, 1, HD_CALLER);
  }
  if (h.at[h.n - 1]) {
    rest = r + h.n;
    WRITES(rest - 1, 1);
    rest[-1] = 0;
  }
  WRITES(s, sizeof *s);
  *s = rest;
  return r;
}

/* ---- numbers ---- */

/* As of C23, 0b may come before digits of base 2. */
static int base_of(const char *function, int base) {
  return *function == '_' && (base & ~2) == 0 ? -1 : base;
}

/* What was read: as far as the number goes, and the character after it. */
#define NUMBER(ret, name, type, params, inactive, parse, follow)                                    \
  static size_t name##_bytes(const char *s, const void *arg) {                                      \
    char *to = (char *)(uintptr_t)s;                                                                \
    int e = errno, base = *(const int *)arg;                                                        \
    (void)base;                                                                                     \
    parse;                                                                                          \
    errno = e;                                                                                      \
    return (size_t)(to - s) + 1;                                                                    \
  }                                                                                                 \
  HD_EXPORT ret name params;                                                                        \
  ret name params {                                                                                 \
    hd__real_init();                                                                                \
    if (!hot.active) return real_##name inactive;                                                   \
    LOCALE;                                                                                         \
    bool keep = (follow) && hd__keep_begin();                                                       \
    struct hd_held h = hd__hold(s, name##_bytes, type, HD_CALLER);                                  \
    const char *from = s;                                                                           \
    char *to = (char *)(uintptr_t)h.at;                                                             \
    s = h.at;                                                                                       \
    ret r = (ret)parse;                                                                             \
    if (keep)                                                                                       \
      hd__keep_end(),                                                                               \
          hd__library_number(from, base_of(#name, *(const int *)type), 64, (uint64_t)r, HD_CALLER); \
    WRITES(end, sizeof *end);                                                                       \
    if (end) *end = (char *)(uintptr_t)from + (to - s);                                             \
    return r;                                                                                       \
  }
#define INTEGER(ret, name)                                                                          \
  NUMBER(ret, name, &base, (const char *restrict s, char **restrict end, int base), (s, end, base), \
         real_##name(s, &to, base), true)
#define FLOATING(ret, name)                                                                                  \
  NUMBER(ret, name, &(int){0}, (const char *restrict s, char **restrict end), (s, end), real_##name(s, &to), \
         false)
INTEGER(long, strtol)
INTEGER(unsigned long, strtoul)
INTEGER(long long, strtoll)
INTEGER(unsigned long long, strtoull)
INTEGER(intmax_t, strtoimax)
INTEGER(uintmax_t, strtoumax)
INTEGER(long, __isoc23_strtol)
INTEGER(unsigned long, __isoc23_strtoul)
INTEGER(long long, __isoc23_strtoll)
INTEGER(unsigned long long, __isoc23_strtoull)
FLOATING(double, strtod)
FLOATING(float, strtof)
FLOATING(long double, strtold)

static size_t number_bytes(const char *s, const void *unused) {
  (void)unused;
  char *to;
  int e = errno;
  real_strtod(s, &to);
  errno = e;
  return (size_t)(to - s) + 1;
}

#define PARSE(ret, name, width)                                                           \
  HD_EXPORT ret name(const char *s) {                                                     \
    hd__real_init();                                                                      \
    if (!hot.active) return real_##name(s);                                               \
    bool keep = (width) && hd__keep_begin();                                              \
    struct hd_held h = hd__hold(s, number_bytes, NULL, HD_CALLER);                        \
    ret r = real_##name(h.at);                                                            \
    if (keep) hd__keep_end(), hd__library_number(s, 10, (width), (uint64_t)r, HD_CALLER); \
    return r;                                                                             \
  }
PARSE(int, atoi, 32)
PARSE(long, atol, 64)
PARSE(long long, atoll, 64)
PARSE(double, atof, 0)

/* ---- wide strings ---- */

#define WIDE sizeof(wchar_t)

static const wchar_t *wide(struct hd_held h) { return (const wchar_t *)h.at; }

HD_EXPORT size_t wcslen(const wchar_t *s) {
  hd__real_init();
  return hot.active ? hd__hold_wide(s, SIZE_MAX, HD_CALLER).n / WIDE - 1 : real_wcslen(s);
}

HD_EXPORT size_t wcsnlen(const wchar_t *s, size_t max) {
  hd__real_init();
  if (!hot.active) return real_wcsnlen(s, max);
  struct hd_held h = hd__hold_wide(s, max, HD_CALLER);
  return real_wcsnlen(wide(h), h.n / WIDE);
}

HD_EXPORT wchar_t *wmemcpy(wchar_t *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) s = wide(hd__hold_bytes(s, n * WIDE, HD_CALLER));
  WRITES(d, n * WIDE);
  return real_wmemcpy(d, s, n);
}

HD_EXPORT wchar_t *wmemmove(wchar_t *d, const wchar_t *s, size_t n) {
  hd__real_init();
  if (hot.active) s = wide(hd__hold_bytes(s, n * WIDE, HD_CALLER));
  WRITES(d, n * WIDE);
  return real_wmemmove(d, s, n);
}

HD_EXPORT wchar_t *wmemset(wchar_t *d, wchar_t c, size_t n) {
  hd__real_init();
  WRITES(d, n * WIDE);
  return real_wmemset(d, c, n);
}

HD_EXPORT wchar_t *wcscpy(wchar_t *restrict d, const wchar_t *restrict s) {
  hd__real_init();
  if (!hot.active) return real_wcscpy(d, s);
  struct hd_held h = hd__hold_wide(s, SIZE_MAX, HD_CALLER);
  WRITES(d, h.n);
  return real_wmemcpy(d, wide(h), h.n / WIDE);
}

HD_EXPORT wchar_t *wcsncpy(wchar_t *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) s = wide(hd__hold_wide(s, n, HD_CALLER));
  WRITES(d, n * WIDE);
  return real_wcsncpy(d, s, n);
}

static wchar_t *append(wchar_t *d, const wchar_t *s, size_t n, uint64_t pc) {
  struct hd_held h = hd__hold_wide(s, n, pc);
  size_t k = hd__hold_wide(d, SIZE_MAX, pc).n / WIDE - 1, m = real_wcsnlen(wide(h), h.n / WIDE);
  hd__writes(d + k, (m + 1) * WIDE, pc);
  real_wmemcpy(d + k, wide(h), m);
  d[k + m] = 0;
  return d;
}

HD_EXPORT wchar_t *wcscat(wchar_t *restrict d, const wchar_t *restrict s) {
  hd__real_init();
  return hot.active ? append(d, s, SIZE_MAX, HD_CALLER) : real_wcscat(d, s);
}

HD_EXPORT wchar_t *wcsncat(wchar_t *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  return hot.active ? append(d, s, n, HD_CALLER) : real_wcsncat(d, s, n);
}

HD_EXPORT wchar_t *wcsdup(const wchar_t *s) {
  hd__real_init();
  if (!hot.active) return real_wcsdup(s);
  struct hd_held h = hd__hold_wide(s, SIZE_MAX, HD_CALLER);
  wchar_t *d = hd__malloc_for_program(h.n, HD_CALLER);
  if (!d) return NULL;
  WRITES(d, h.n);
  return real_wmemcpy(d, wide(h), h.n / WIDE);
}

static int text_n(const void *a, const void *b, size_t n) { return real_wcsncmp(a, b, n); }
static int memory_n(const void *a, const void *b, size_t n) { return real_wmemcmp(a, b, n); }
static const struct hd_compare text = {WIDE, true, false, text_n}, memory = {WIDE, false, false, memory_n};

HD_EXPORT int wcscmp(const wchar_t *a, const wchar_t *b) {
  hd__real_init();
  return hot.active ? hd__compare(&text, a, b, SIZE_MAX & ~(WIDE - 1), HD_CALLER) : real_wcscmp(a, b);
}

HD_EXPORT int wcsncmp(const wchar_t *a, const wchar_t *b, size_t max) {
  hd__real_init();
  return hot.active ? hd__compare(&text, a, b, max * WIDE, HD_CALLER) : real_wcsncmp(a, b, max);
}

HD_EXPORT int wmemcmp(const wchar_t *a, const wchar_t *b, size_t n) {
  hd__real_init();
  return hot.active ? hd__compare(&memory, a, b, n * WIDE, HD_CALLER) : real_wmemcmp(a, b, n);
}

static size_t to_wide(const char *s, const void *c) {
  const wchar_t *w = (const wchar_t *)s, *r = real_wcschr(w, *(const wchar_t *)c);
  return ((r ? (size_t)(r - w) : real_wcslen(w)) + 1) * WIDE;
}

HD_EXPORT wchar_t *wcschr(const wchar_t *s, wchar_t c) {
  hd__real_init();
  if (!hot.active) return real_wcschr(s, c);
  struct hd_held h = hd__hold(s, to_wide, &c, HD_CALLER);
  return there(s, h, (const char *)real_wcschr(wide(h), c));
}

HD_EXPORT size_t mbstowcs(wchar_t *restrict d, const char *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) s = READS_STRING(s);
  LOCALE;
  if (hot.active && d) {
    size_t k = real_mbstowcs(NULL, s, 0);
    if (k != (size_t)-1) WRITES(d, (k < n ? k + 1 : n) * WIDE);
  }
  return real_mbstowcs(d, s, n);
}

HD_EXPORT size_t wcstombs(char *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) s = wide(hd__hold_wide(s, SIZE_MAX, HD_CALLER));
  LOCALE;
  if (hot.active && d) {
    size_t k = real_wcstombs(NULL, s, 0);
    if (k != (size_t)-1) WRITES(d, k < n ? k + 1 : n);
  }
  return real_wcstombs(d, s, n);
}
