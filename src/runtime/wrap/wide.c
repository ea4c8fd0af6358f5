/* wide.c: more functions for wide characters: the memory that they access. Runs in the tested process.
 *
 * As results.c; text.c has those that most programs use. What a wide format reads and writes is found like that of a narrow
 * one (format.c): only its conversions matter, and these are the same characters. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <uchar.h>
#include <wchar.h>

#include "runtime/wrap/results.h"

#define WIDE sizeof(wchar_t)

static void reads_wide(const wchar_t *s, size_t max, uint64_t pc) {
  if (hot.active && s) hd__hold_wide(s, max, pc);
}
#define READS_WIDE(s) reads_wide((s), SIZE_MAX, HD_CALLER)
#define READS_SOME(s, n) reads_wide((s), (n), HD_CALLER)

/* ---- strings ---- */

CALL(wchar_t *, wcsrchr, (const wchar_t *s, wchar_t c), (s, c), READS_WIDE(s))
CALL(wchar_t *, wcsstr, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t))
CALL(wchar_t *, wcswcs, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t))
CALL(wchar_t *, wcspbrk, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t))
CALL(wchar_t *, wcschrnul, (const wchar_t *s, wchar_t c), (s, c), READS_WIDE(s))
CALL(size_t, wcsspn, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t))
CALL(size_t, wcscspn, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t))
CALL(int, wcscoll, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t); LOCALE)
CALL(int, wcscasecmp, (const wchar_t *s, const wchar_t *t), (s, t), READS_WIDE(s); READS_WIDE(t); LOCALE)
CALL(int, wcsncasecmp, (const wchar_t *s, const wchar_t *t, size_t n), (s, t, n), READS_SOME(s, n);
     READS_SOME(t, n))
CALL(int, wcswidth, (const wchar_t *s, size_t n), (s, n), READS_SOME(s, n); LOCALE)
RESULT(size_t, wcsxfrm, (wchar_t *restrict d, const wchar_t *restrict s, size_t n), (d, s, n), READS_WIDE(s);
       LOCALE, r < n, WRITES(d, (r + 1) * WIDE))
RESULT(wchar_t *, wcpcpy, (wchar_t *restrict d, const wchar_t *restrict s), (d, s), READS_WIDE(s), true,
       WRITES(d, (size_t)(r - d + 1) * WIDE))
CALL(wchar_t *, wcpncpy, (wchar_t *restrict d, const wchar_t *restrict s, size_t n), (d, s, n),
     READS_SOME(s, n);
     WRITES(d, n *WIDE))
CALL(wchar_t *, wmemchr, (const wchar_t *s, wchar_t c, size_t n), (s, c, n), READS(s, n *WIDE))
CALL(wchar_t *, wmempcpy, (wchar_t *restrict d, const wchar_t *restrict s, size_t n), (d, s, n),
     READS(s, n *WIDE);
     WRITES(d, n *WIDE))
RESULT(wchar_t *, wcstok, (wchar_t *restrict s, const wchar_t *restrict t, wchar_t **restrict at), (s, t, at),
       READS_WIDE(t);
       if (!s) READS(at, sizeof *at); READS_WIDE(s ? s : *at), true, WRITES(at, sizeof *at);
       if (r && *at) WRITES(*at - 1, WIDE))
RESULT(size_t, wcsftime,
       (wchar_t *restrict d, size_t n, const wchar_t *restrict f, const struct tm *restrict t), (d, n, f, t),
       LOCAL_TIME;
       READS_WIDE(f); READS(t, sizeof *t), r > 0, WRITES(d, (r + 1) * WIDE))
RESULT(float, wcstof, (const wchar_t *restrict s, wchar_t **restrict end), (s, end), READS_WIDE(s);
       LOCALE, end != NULL, WRITES(end, sizeof *end))
RESULT(long double, wcstold, (const wchar_t *restrict s, wchar_t **restrict end), (s, end), READS_WIDE(s);
       LOCALE, end != NULL, WRITES(end, sizeof *end))

/* ---- conversions ---- */

CALL(size_t, mbrlen, (const char *restrict s, size_t n, mbstate_t *restrict p), (s, n, p),
     READS(s, s ? 1 : 0);
     WRITES(p, sizeof *p))
RESULT(size_t, mbsnrtowcs,
       (wchar_t *restrict d, const char **restrict s, size_t k, size_t n, mbstate_t *restrict p),
       (d, s, k, n, p), READS(s, sizeof *s);
       if (hot.active) hd__hold_string(*s, k, HD_CALLER);
       WRITES(p, sizeof *p), d &&r != (size_t)-1, WRITES(d, (r < n ? r + 1 : n) * WIDE); WRITES(s, sizeof *s))
RESULT(size_t, wcsnrtombs,
       (char *restrict d, const wchar_t **restrict s, size_t k, size_t n, mbstate_t *restrict p),
       (d, s, k, n, p), READS(s, sizeof *s);
       READS_SOME(*s, k); WRITES(p, sizeof *p), d &&r != (size_t)-1, WRITES(d, r < n ? r + 1 : n);
       WRITES(s, sizeof *s))
RESULT(size_t, c16rtomb, (char *restrict d, char16_t c, mbstate_t *restrict p), (d, c, p),
       WRITES(p, sizeof *p), d &&r != (size_t)-1, WRITES(d, r))
RESULT(size_t, c32rtomb, (char *restrict d, char32_t c, mbstate_t *restrict p), (d, c, p),
       WRITES(p, sizeof *p), d &&r != (size_t)-1, WRITES(d, r))
RESULT(size_t, mbrtoc16, (char16_t *restrict d, const char *restrict s, size_t n, mbstate_t *restrict p),
       (d, s, n, p), READS(s, s &&n ? 1 : 0);
       WRITES(p, sizeof *p), (ssize_t)r >= 0, WRITES(d, sizeof *d))
RESULT(size_t, mbrtoc32, (char32_t *restrict d, const char *restrict s, size_t n, mbstate_t *restrict p),
       (d, s, n, p), READS(s, s &&n ? 1 : 0);
       WRITES(p, sizeof *p), (ssize_t)r >= 0, WRITES(d, sizeof *d))

/* ---- formats ---- */

#define LONGEST 1024
struct narrow {
  char text[LONGEST];
};

/* The format in narrow characters. Those that are not narrow are no conversions. */
static struct narrow narrow(const wchar_t *format) {
  struct narrow n = {{0}};
  for (unsigned i = 0; i < LONGEST - 1 && format[i]; i++)
    n.text[i] = (char)(format[i] < 128 ? (char)format[i] : '?');
  return n;
}

/* What a format like that of wprintf reads. */
static void prints(const wchar_t *format, va_list ap, uint64_t pc) {
  if (!hot.active) return;
  hd__hold_wide(format, SIZE_MAX, pc);
  hd__hold_format(narrow(format).text, ap, pc);
}

static int print_string(wchar_t *d, size_t n, const wchar_t *format, va_list ap, uint64_t pc) {
  static void *found;
  hd__real_init();
  prints(format, ap, pc);
  int r = ((int (*)(wchar_t *, size_t, const wchar_t *, va_list))hd__original(&found, "vswprintf"))(
      d, n, format, ap);
  if (r >= 0) hd__writes(d, ((size_t)r + 1) * WIDE, pc);
  return r;
}

static int print_stream(FILE *f, const wchar_t *format, va_list ap, uint64_t pc) {
  static void *found;
  hd__real_init();
  prints(format, ap, pc);
  hd__stream_begin(f, true, pc);
  int r = ((int (*)(FILE *, const wchar_t *, va_list))hd__original(&found, "vfwprintf"))(f, format, ap);
  hd__stream_end(f, pc);
  return r;
}

#define WITH_ARGUMENTS(last, call) \
  va_list ap;                      \
  va_start(ap, last);              \
  int r = call;                    \
  va_end(ap);                      \
  return r
#define FUNCTION(name, params) \
  HD_EXPORT int name params;   \
  int name params

FUNCTION(vswprintf, (wchar_t *restrict d, size_t n, const wchar_t *restrict format, va_list ap)) {
  return print_string(d, n, format, ap, HD_CALLER);
}
FUNCTION(swprintf, (wchar_t *restrict d, size_t n, const wchar_t *restrict format, ...)) {
  WITH_ARGUMENTS(format, print_string(d, n, format, ap, HD_CALLER));
}
FUNCTION(vfwprintf, (FILE *restrict f, const wchar_t *restrict format, va_list ap)) {
  return print_stream(f, format, ap, HD_CALLER);
}
FUNCTION(vwprintf, (const wchar_t *restrict format, va_list ap)) {
  return print_stream(stdout, format, ap, HD_CALLER);
}
FUNCTION(fwprintf, (FILE *restrict f, const wchar_t *restrict format, ...)) {
  WITH_ARGUMENTS(format, print_stream(f, format, ap, HD_CALLER));
}
FUNCTION(wprintf, (const wchar_t *restrict format, ...)) {
  WITH_ARGUMENTS(format, print_stream(stdout, format, ap, HD_CALLER));
}

/* With _FORTIFY_SOURCE the compilers call these. */
FUNCTION(__vswprintf_chk, (wchar_t * d, size_t n, int flag, size_t room, const wchar_t *format, va_list ap)) {
  (void)flag;
  if (n > room) abort();
  return print_string(d, n, format, ap, HD_CALLER);
}
FUNCTION(__swprintf_chk, (wchar_t * d, size_t n, int flag, size_t room, const wchar_t *format, ...)) {
  (void)flag;
  if (n > room) abort();
  WITH_ARGUMENTS(format, print_string(d, n, format, ap, HD_CALLER));
}
FUNCTION(__vfwprintf_chk, (FILE * f, int flag, const wchar_t *format, va_list ap)) {
  (void)flag;
  return print_stream(f, format, ap, HD_CALLER);
}
FUNCTION(__vwprintf_chk, (int flag, const wchar_t *format, va_list ap)) {
  (void)flag;
  return print_stream(stdout, format, ap, HD_CALLER);
}
FUNCTION(__fwprintf_chk, (FILE * f, int flag, const wchar_t *format, ...)) {
  (void)flag;
  WITH_ARGUMENTS(format, print_stream(f, format, ap, HD_CALLER));
}
FUNCTION(__wprintf_chk, (int flag, const wchar_t *format, ...)) {
  (void)flag;
  WITH_ARGUMENTS(format, print_stream(stdout, format, ap, HD_CALLER));
}

static int scan(void *from, bool stream, const char *name, void **found, const wchar_t *format, va_list ap,
                uint64_t pc) {
  va_list again;
  hd__real_init();
  va_copy(again, ap);
  if (hot.active) hd__hold_wide(format, SIZE_MAX, pc);
  if (stream)
    hd__stream_begin(from, false, pc);
  else
    reads_wide(from, SIZE_MAX, pc);
  hd__allocating(pc);
  int r = ((int (*)(void *, const wchar_t *, va_list))hd__original(found, name))(from, format, ap);
  hd__allocating(0);
  if (stream) hd__stream_end(from, pc);
  hd__writes_format(narrow(format).text, again, r, pc);
  va_end(again);
  return r;
}

/* Headers redirect these by the version of the language. */
#define SCAN(prefix)                                                                                         \
  HD_EXPORT int hd_rt_##prefix##vswscanf(const wchar_t *s, const wchar_t *f,                                 \
                                         va_list) __asm__(#prefix "vswscanf");                               \
  HD_EXPORT int hd_rt_##prefix##swscanf(const wchar_t *s, const wchar_t *f, ...) __asm__(#prefix "swscanf"); \
  HD_EXPORT int hd_rt_##prefix##vfwscanf(FILE *s, const wchar_t *f, va_list ap) __asm__(#prefix "vfwscanf"); \
  HD_EXPORT int hd_rt_##prefix##fwscanf(FILE *s, const wchar_t *f, ...) __asm__(#prefix "fwscanf");          \
  HD_EXPORT int hd_rt_##prefix##vwscanf(const wchar_t *f, va_list ap) __asm__(#prefix "vwscanf");            \
  HD_EXPORT int hd_rt_##prefix##wscanf(const wchar_t *f, ...) __asm__(#prefix "wscanf");                     \
  static void *found_##prefix##s, *found_##prefix##f;                                                        \
  int hd_rt_##prefix##vswscanf(const wchar_t *s, const wchar_t *f, va_list ap) {                             \
    return scan((void *)s, false, #prefix "vswscanf", &found_##prefix##s, f, ap, HD_CALLER);                 \
  }                                                                                                          \
  int hd_rt_##prefix##swscanf(const wchar_t *s, const wchar_t *f, ...) {                                     \
    WITH_ARGUMENTS(f, scan((void *)s, false, #prefix "vswscanf", &found_##prefix##s, f, ap, HD_CALLER));     \
  }                                                                                                          \
  int hd_rt_##prefix##vfwscanf(FILE *s, const wchar_t *f, va_list ap) {                                      \
    return scan(s, true, #prefix "vfwscanf", &found_##prefix##f, f, ap, HD_CALLER);                          \
  }                                                                                                          \
  int hd_rt_##prefix##fwscanf(FILE *s, const wchar_t *f, ...) {                                              \
    WITH_ARGUMENTS(f, scan(s, true, #prefix "vfwscanf", &found_##prefix##f, f, ap, HD_CALLER));              \
  }                                                                                                          \
  int hd_rt_##prefix##vwscanf(const wchar_t *f, va_list ap) {                                                \
    return scan(stdin, true, #prefix "vfwscanf", &found_##prefix##f, f, ap, HD_CALLER);                      \
  }                                                                                                          \
  int hd_rt_##prefix##wscanf(const wchar_t *f, ...) {                                                        \
    WITH_ARGUMENTS(f, scan(stdin, true, #prefix "vfwscanf", &found_##prefix##f, f, ap, HD_CALLER));          \
  }
SCAN()
SCAN(__isoc99_)
SCAN(__isoc23_)

RESULT(wchar_t *, fgetws, (wchar_t *restrict d, int n, FILE *restrict f), (d, n, f),
       hd__stream_begin(f, false, HD_CALLER), (hd__stream_end(f, HD_CALLER), r != NULL),
       WRITES(d, (real_wcslen(d) + 1) * WIDE))
