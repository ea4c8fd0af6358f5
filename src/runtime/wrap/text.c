/* text.c: searching, splitting and converting strings, and wide strings. Runs in the tested process. Like string.c, these
 * functions access what they read and write; each is one read and one write. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <wchar.h>

#include "runtime/core/fingerprint.h"
#include "runtime/wrap/access.h"

/* ---- blocks and strings ---- */

HD_EXPORT void *memccpy(void *restrict d, const void *restrict s, int c, size_t n) {
  hd__real_init();
  if (hot.active) {
    const char *end = real_memchr(s, c, n);
    size_t k = end ? (size_t)(end - (const char *)s) + 1 : n;
    READS(s, k);
    WRITES(d, k);
  }
  return real_memccpy(d, s, c, n);
}

HD_EXPORT void *memrchr(const void *s, int c, size_t n) {
  hd__real_init();
  void *r = real_memrchr(s, c, n);
  if (hot.active) {
    const char *from = r ? r : s;
    READS(from, (size_t)((const char *)s + n - from));
    r = real_memrchr(s, c, n); /* others may have run */
  }
  return r;
}

HD_EXPORT void *memmem(const void *s, size_t n, const void *t, size_t m) {
  hd__real_init();
  void *r = real_memmem(s, n, t, m);
  if (hot.active) {
    READS(s, r ? (size_t)((char *)r - (const char *)s) + m : n);
    READS(t, m);
    r = real_memmem(s, n, t, m);
  }
  return r;
}

HD_EXPORT void *rawmemchr(const void *s, int c) {
  hd__real_init();
  if (hot.active) READS(s, (size_t)((char *)real_rawmemchr(s, c) - (const char *)s) + 1);
  return real_rawmemchr(s, c);
}

HD_EXPORT char *strchrnul(const char *s, int c) {
  hd__real_init();
  if (hot.active) READS(s, (size_t)(real_strchrnul(s, c) - s) + 1);
  return real_strchrnul(s, c);
}

HD_EXPORT char *stpncpy(char *restrict d, const char *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) {
    size_t k = real_strnlen(s, n);
    READS(s, k < n ? k + 1 : k);
    WRITES(d, n);
  }
  return real_stpncpy(d, s, n);
}

/* Functions that search a string for characters, or for a string. */
#define SEARCH(ret, name, read)                      \
  HD_EXPORT ret name(const char *s, const char *t) { \
    hd__real_init();                                 \
    if (hot.active) {                                \
      READS(s, read);                                \
      READS_STRING(t);                               \
    }                                                \
    return real_##name(s, t);                        \
  }
SEARCH(size_t, strspn, real_strspn(s, t) + 1)
SEARCH(size_t, strcspn, real_strcspn(s, t) + 1)
SEARCH(char *, strpbrk, real_strcspn(s, t) + 1)
SEARCH(char *, strcasestr, real_strlen(s) + 1)
SEARCH(int, strcoll, real_strlen(s) + 1)

HD_EXPORT size_t strxfrm(char *restrict d, const char *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) {
    READS_STRING(s);
    size_t k = real_strxfrm(NULL, s, 0) + 1;
    WRITES(d, k < n ? k : n);
  }
  return real_strxfrm(d, s, n);
}

/* ---- splitting: a delimiter is overwritten ---- */

/* The token at s: where it begins, and where it ends. */
static char *token(char *s, const char *delimiters, char **end) {
  s += real_strspn(s, delimiters);
  *end = s + real_strcspn(s, delimiters);
  return s;
}

static void split(char *s, const char *delimiters, uint64_t pc) {
  char *end, *from = token(s, delimiters, &end);
  hd__reads_string(delimiters, pc);
  hd__reads(s, (size_t)(end - s) + 1, pc);
  if (*from && *end) hd__writes(end, 1, pc);
}

HD_EXPORT char *strtok_r(char *restrict s, const char *restrict delimiters, char **restrict state) {
  hd__real_init();
  if (hot.active) {
    if (!s) READS(state, sizeof *state);
    WRITES(state, sizeof *state);
    if (s || *state) split(s ? s : *state, delimiters, HD_CALLER);
  }
  return real_strtok_r(s, delimiters, state);
}

/* libc keeps the rest of the string in a variable of its own, which has no lock. */
static char *strtok_rest;

HD_EXPORT char *strtok(char *restrict s, const char *restrict delimiters) {
  hd__real_init();
  if (!hot.active) return real_strtok(s, delimiters);
  hd__writes(&strtok_rest, sizeof strtok_rest, HD_CALLER);
  hd__uncaptured(HD_UNCAPTURED_LIBRARY);
  static uint32_t epoch;
  if (epoch != rt.epoch) strtok_rest = NULL;
  epoch = rt.epoch;
  if (s || strtok_rest)
    split(s ? s : strtok_rest, delimiters, HD_CALLER);
  else
    return NULL;
  return real_strtok_r(s, delimiters, &strtok_rest);
}

HD_EXPORT char *strsep(char **restrict s, const char *restrict delimiters) {
  hd__real_init();
  if (hot.active) {
    READS(s, sizeof *s);
    if (*s) {
      size_t n = real_strcspn(*s, delimiters);
      READS_STRING(delimiters);
      READS(*s, n + 1);
      if ((*s)[n]) WRITES(*s + n, 1);
      WRITES(s, sizeof *s);
    }
  }
  return real_strsep(s, delimiters);
}

/* ---- numbers ---- */

/* What was read: as far as the number goes, and the character after it. */
#define NUMBER(ret, name, params, args, try) \
  HD_EXPORT ret name params;                 \
  ret name params {                          \
    hd__real_init();                         \
    if (hot.active) {                        \
      char *to = (char *)(uintptr_t)s;       \
      int e = errno;                         \
      try;                                   \
      errno = e;                             \
      READS(s, (size_t)(to - s) + 1);        \
      WRITES(end, sizeof *end);              \
    }                                        \
    return real_##name args;                 \
  }
#define INTEGER(ret, name)                                                                   \
  NUMBER(ret, name, (const char *restrict s, char **restrict end, int base), (s, end, base), \
         real_##name(s, &to, base))
#define FLOATING(ret, name) \
  NUMBER(ret, name, (const char *restrict s, char **restrict end), (s, end), real_##name(s, &to))
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

#define PARSE(ret, name)              \
  HD_EXPORT ret name(const char *s) { \
    hd__real_init();                  \
    if (hot.active) {                 \
      char *to;                       \
      int e = errno;                  \
      real_strtod(s, &to);            \
      errno = e;                      \
      READS(s, (size_t)(to - s) + 1); \
    }                                 \
    return real_##name(s);            \
  }
PARSE(int, atoi)
PARSE(long, atol)
PARSE(long long, atoll)
PARSE(double, atof)

/* ---- wide strings ---- */

#define WIDE sizeof(wchar_t)

HD_EXPORT size_t wcslen(const wchar_t *s) {
  hd__real_init();
  if (hot.active) READS(s, (real_wcslen(s) + 1) * WIDE);
  return real_wcslen(s);
}

HD_EXPORT wchar_t *wmemcpy(wchar_t *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  READS(s, n * WIDE);
  WRITES(d, n * WIDE);
  return real_wmemcpy(d, s, n);
}

HD_EXPORT wchar_t *wmemmove(wchar_t *d, const wchar_t *s, size_t n) {
  hd__real_init();
  READS(s, n * WIDE);
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
  if (hot.active) {
    size_t n = real_wcslen(s) + 1;
    READS(s, n * WIDE);
    WRITES(d, n * WIDE);
  }
  return real_wcscpy(d, s);
}

HD_EXPORT wchar_t *wcsncpy(wchar_t *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  if (hot.active) {
    size_t k = 0;
    while (k < n && s[k]) k++;
    READS(s, (k < n ? k + 1 : k) * WIDE);
    WRITES(d, n * WIDE);
  }
  return real_wcsncpy(d, s, n);
}

HD_EXPORT wchar_t *wcscat(wchar_t *restrict d, const wchar_t *restrict s) {
  hd__real_init();
  if (hot.active) {
    size_t k = real_wcslen(d), n = real_wcslen(s) + 1;
    READS(s, n * WIDE);
    READS(d, (k + 1) * WIDE);
    WRITES(d + k, n * WIDE);
  }
  return real_wcscat(d, s);
}

static size_t compared(const wchar_t *a, const wchar_t *b, size_t max) {
  size_t n = 0;
  while (n < max && a[n] && a[n] == b[n]) n++;
  return (n < max ? n + 1 : n) * WIDE;
}

HD_EXPORT int wcscmp(const wchar_t *a, const wchar_t *b) {
  hd__real_init();
  if (hot.active) {
    size_t n = compared(a, b, SIZE_MAX);
    READS(a, n);
    READS(b, n);
  }
  return real_wcscmp(a, b);
}

HD_EXPORT int wcsncmp(const wchar_t *a, const wchar_t *b, size_t max) {
  hd__real_init();
  if (hot.active) {
    size_t n = compared(a, b, max);
    READS(a, n);
    READS(b, n);
  }
  return real_wcsncmp(a, b, max);
}

HD_EXPORT wchar_t *wcschr(const wchar_t *s, wchar_t c) {
  hd__real_init();
  if (hot.active) {
    const wchar_t *r = real_wcschr(s, c);
    READS(s, ((r ? (size_t)(r - s) : real_wcslen(s)) + 1) * WIDE);
  }
  return real_wcschr(s, c);
}

HD_EXPORT size_t mbstowcs(wchar_t *restrict d, const char *restrict s, size_t n) {
  hd__real_init();
  if (hot.active && d) {
    size_t k = real_mbstowcs(NULL, s, 0);
    READS_STRING(s);
    if (k != (size_t)-1) WRITES(d, (k < n ? k + 1 : n) * WIDE);
  }
  return real_mbstowcs(d, s, n);
}

HD_EXPORT size_t wcstombs(char *restrict d, const wchar_t *restrict s, size_t n) {
  hd__real_init();
  if (hot.active && d) {
    size_t k = real_wcstombs(NULL, s, 0);
    READS(s, (real_wcslen(s) + 1) * WIDE);
    if (k != (size_t)-1) WRITES(d, k < n ? k + 1 : n);
  }
  return real_wcstombs(d, s, n);
}
