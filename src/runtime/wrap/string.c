/* string.c: memory and string functions, which access what they read and write. Runs in the tested process. clang
 * calls the __tsan_ names, gcc the plain ones. */
#define HD_DEFINES_MEMCPY
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

static inline void reads(const void *p, size_t n, uint64_t pc) { hd__access_range((uint64_t)p, n, 0, pc); }
static inline void writes(const void *p, size_t n, uint64_t pc) {
  hd__access_range((uint64_t)p, n, HD_A_WRITE, pc);
}
/* Before the runtime is ready there is no original to call. */
static inline void ready(void) {
  if (HD_UNLIKELY(!real_strstr)) hd__real_init();
}

static void *copy(void *d, const void *s, size_t n, uint64_t pc) {
  if (hot.active) {
    reads(s, n, pc);
    writes(d, n, pc);
  }
  if (HD_UNLIKELY(!real_memcpy)) {
    hd__copy(d, s, n);
    return d;
  }
  return real_memcpy(d, s, n);
}

static void *move(void *d, const void *s, size_t n, uint64_t pc) {
  if (hot.active) {
    reads(s, n, pc);
    writes(d, n, pc);
  }
  if (HD_UNLIKELY(!real_memmove)) {
    char *to = d;
    const char *from = s;
    if (to < from)
      for (size_t i = 0; i < n; i++) to[i] = from[i];
    else
      while (n--) to[n] = from[n];
    return d;
  }
  return real_memmove(d, s, n);
}

static void *set(void *d, int c, size_t n, uint64_t pc) {
  if (hot.active) writes(d, n, pc);
  if (HD_UNLIKELY(!real_memset)) {
    for (size_t i = 0; i < n; i++) ((char *)d)[i] = (char)c;
    return d;
  }
  return real_memset(d, c, n);
}

HD_EXPORT void *__tsan_memcpy(void *d, const void *s, size_t n);
HD_EXPORT void *__tsan_memmove(void *d, const void *s, size_t n);
HD_EXPORT void *__tsan_memset(void *d, int c, size_t n);
void *__tsan_memcpy(void *d, const void *s, size_t n) { return copy(d, s, n, HD_CALLER); }
void *__tsan_memmove(void *d, const void *s, size_t n) { return move(d, s, n, HD_CALLER); }
void *__tsan_memset(void *d, int c, size_t n) { return set(d, c, n, HD_CALLER); }

HD_EXPORT void *memcpy(void *restrict d, const void *restrict s, size_t n) {
  return copy(d, s, n, HD_CALLER);
}
HD_EXPORT void *memmove(void *d, const void *s, size_t n) { return move(d, s, n, HD_CALLER); }
HD_EXPORT void *memset(void *d, int c, size_t n) { return set(d, c, n, HD_CALLER); }

HD_EXPORT void *mempcpy(void *restrict d, const void *restrict s, size_t n) {
  return (char *)copy(d, s, n, HD_CALLER) + n;
}

HD_EXPORT void bzero(void *d, size_t n) { set(d, 0, n, HD_CALLER); }
HD_EXPORT void explicit_bzero(void *d, size_t n) { set(d, 0, n, HD_CALLER); }
HD_EXPORT void __explicit_bzero_chk(void *d, size_t n, size_t room);
void __explicit_bzero_chk(void *d, size_t n, size_t room) {
  (void)room;
  set(d, 0, n, HD_CALLER);
}
HD_EXPORT void bcopy(const void *s, void *d, size_t n) { move(d, s, n, HD_CALLER); }

static int compare(const void *a, const void *b, size_t n, uint64_t pc) {
  ready();
  if (hot.active) {
    size_t k = 0; /* bytes read: up to the first difference */
    while (k < n && ((const char *)a)[k] == ((const char *)b)[k]) k++;
    k += k < n;
    reads(a, k, pc);
    reads(b, k, pc);
  }
  return real_memcmp(a, b, n);
}

HD_EXPORT int memcmp(const void *a, const void *b, size_t n) { return compare(a, b, n, HD_CALLER); }
HD_EXPORT int bcmp(const void *a, const void *b, size_t n) { return compare(a, b, n, HD_CALLER); }

HD_EXPORT void *memchr(const void *s, int c, size_t n) {
  ready();
  void *r = real_memchr(s, c, n);
  if (hot.active) {
    reads(s, r ? (size_t)((char *)r - (const char *)s) + 1 : n, HD_CALLER);
    r = real_memchr(s, c, n); /* others may have run */
  }
  return r;
}

HD_EXPORT size_t strlen(const char *s) {
  ready();
  size_t n = real_strlen(s);
  if (hot.active) {
    reads(s, n + 1, HD_CALLER);
    n = real_strlen(s);
  }
  return n;
}

HD_EXPORT size_t strnlen(const char *s, size_t max) {
  ready();
  size_t n = real_strnlen(s, max);
  if (hot.active) {
    reads(s, n < max ? n + 1 : n, HD_CALLER);
    n = real_strnlen(s, max);
  }
  return n;
}

HD_EXPORT char *strcpy(char *restrict d, const char *restrict s) {
  ready();
  if (hot.active) {
    size_t n = real_strlen(s) + 1;
    reads(s, n, HD_CALLER);
    writes(d, n, HD_CALLER);
  }
  return real_strcpy(d, s);
}

HD_EXPORT char *stpcpy(char *restrict d, const char *restrict s) {
  ready();
  if (hot.active) {
    size_t n = real_strlen(s) + 1;
    reads(s, n, HD_CALLER);
    writes(d, n, HD_CALLER);
  }
  return real_stpcpy(d, s);
}

HD_EXPORT char *strncpy(char *restrict d, const char *restrict s, size_t n) {
  ready();
  if (hot.active) {
    size_t k = real_strnlen(s, n);
    reads(s, k < n ? k + 1 : k, HD_CALLER);
    writes(d, n, HD_CALLER);
  }
  return real_strncpy(d, s, n);
}

HD_EXPORT char *strcat(char *restrict d, const char *restrict s) {
  ready();
  if (hot.active) {
    size_t k = real_strlen(d), n = real_strlen(s) + 1;
    reads(s, n, HD_CALLER);
    reads(d, k + 1, HD_CALLER);
    writes(d + k, n, HD_CALLER);
  }
  return real_strcat(d, s);
}

HD_EXPORT char *strncat(char *restrict d, const char *restrict s, size_t n) {
  ready();
  if (hot.active) {
    size_t k = real_strlen(d), m = real_strnlen(s, n);
    reads(s, m < n ? m + 1 : m, HD_CALLER);
    reads(d, k + 1, HD_CALLER);
    writes(d + k, m + 1, HD_CALLER);
  }
  return real_strncat(d, s, n);
}

/* Bytes that a comparison reads: up to the first difference or the end. */
static size_t compared(const char *a, const char *b, size_t max, bool fold) {
  size_t n = 0;
  while (n < max && a[n] &&
         (a[n] == b[n] || (fold && tolower((unsigned char)a[n]) == tolower((unsigned char)b[n]))))
    n++;
  return n < max ? n + 1 : n;
}

#define COMPARE(name, args, call, max, fold) \
  HD_EXPORT int name args {                  \
    ready();                                 \
    if (hot.active) {                        \
      size_t n_ = compared(a, b, max, fold); \
      reads(a, n_, HD_CALLER);               \
      reads(b, n_, HD_CALLER);               \
    }                                        \
    return real_##name call;                 \
  }

COMPARE(strcmp, (const char *a, const char *b), (a, b), (size_t)-1, false)
COMPARE(strncmp, (const char *a, const char *b, size_t n), (a, b, n), n, false)
COMPARE(strcasecmp, (const char *a, const char *b), (a, b), (size_t)-1, true)
COMPARE(strncasecmp, (const char *a, const char *b, size_t n), (a, b, n), n, true)

#define FIND(name, arg_type)                                 \
  HD_EXPORT char *name(const char *s, arg_type c) {          \
    ready();                                                 \
    if (hot.active) reads(s, real_strlen(s) + 1, HD_CALLER); \
    return real_##name(s, c);                                \
  }

FIND(strrchr, int)

HD_EXPORT char *strchr(const char *s, int c) {
  ready();
  char *r = real_strchr(s, c);
  if (hot.active) {
    reads(s, (r ? (size_t)(r - s) : real_strlen(s)) + 1, HD_CALLER);
    r = real_strchr(s, c);
  }
  return r;
}

HD_EXPORT char *strstr(const char *s, const char *t) {
  ready();
  if (hot.active) {
    reads(s, real_strlen(s) + 1, HD_CALLER);
    reads(t, real_strlen(t) + 1, HD_CALLER);
  }
  return real_strstr(s, t);
}

static char *duplicate(const char *s, size_t n) {
  char *d = malloc(n + 1);
  if (d) {
    hd__copy(d, s, n);
    d[n] = 0;
  }
  return d;
}

HD_EXPORT char *strdup(const char *s) {
  ready();
  if (hot.active) reads(s, real_strlen(s) + 1, HD_CALLER);
  return duplicate(s, real_strlen(s));
}

HD_EXPORT char *strndup(const char *s, size_t max) {
  ready();
  size_t n = real_strnlen(s, max);
  if (hot.active) reads(s, n < max ? n + 1 : n, HD_CALLER);
  return duplicate(s, n);
}

/* ---- the variants of _FORTIFY_SOURCE, which also have the size of the destination ---- */

HD_EXPORT void __chk_fail(void) __attribute__((noreturn));
void __chk_fail(void) {
  if (hot.active)
    hd__report_simple(HD_KIND_ABORT, 0, HD_CALLER, "buffer overflow detected (_FORTIFY_SOURCE)", true);
  abort();
}

#define CHECK(n, room) \
  if ((n) > (room)) __chk_fail()

#define FORTIFIED(ret, name, params, need, call) \
  HD_EXPORT ret __##name##_chk params;           \
  ret __##name##_chk params {                    \
    ready();                                     \
    CHECK(need, room);                           \
    return call;                                 \
  }

FORTIFIED(void *, memcpy, (void *d, const void *s, size_t n, size_t room), n, copy(d, s, n, HD_CALLER))
FORTIFIED(void *, memmove, (void *d, const void *s, size_t n, size_t room), n, move(d, s, n, HD_CALLER))
FORTIFIED(void *, memset, (void *d, int c, size_t n, size_t room), n, set(d, c, n, HD_CALLER))
FORTIFIED(void *, mempcpy, (void *d, const void *s, size_t n, size_t room), n,
          (char *)copy(d, s, n, HD_CALLER) + n)
FORTIFIED(char *, strcpy, (char *d, const char *s, size_t room), real_strlen(s) + 1, strcpy(d, s))
FORTIFIED(char *, stpcpy, (char *d, const char *s, size_t room), real_strlen(s) + 1, stpcpy(d, s))
FORTIFIED(char *, strncpy, (char *d, const char *s, size_t n, size_t room), n, strncpy(d, s, n))
FORTIFIED(char *, strcat, (char *d, const char *s, size_t room), real_strlen(d) + real_strlen(s) + 1,
          strcat(d, s))
FORTIFIED(char *, strncat, (char *d, const char *s, size_t n, size_t room),
          real_strlen(d) + real_strnlen(s, n) + 1, strncat(d, s, n))
