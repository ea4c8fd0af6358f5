/* string.c: memory and string functions, which access what they read and write. Runs in the tested process. clang
 * calls the __tsan_ names, gcc the plain ones. */
#define HD_DEFINES_MEMCPY
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "runtime/core/finding.h"
#include "runtime/symbolic/library.h"
#include "runtime/wrap/access.h"

static inline void writes(const void *p, size_t n, uint64_t pc) {
  hd__access_range((uint64_t)p, n, HD_A_WRITE, pc);
}
/* Before the runtime is ready there is no original to call. */
static inline void ready(void) {
  if (HD_UNLIKELY(!real_strstr)) hd__real_init();
}

/* What is to be copied, as it is now. Inputs in it (symbolic/) are copied, too, unless others may change it before. */
static const void *hold_block(void *d, const void *s, size_t n, uint64_t pc) {
  bool *quiet = &rt.cur->symbolic.quiet;
  *quiet = true;
  const void *at = hd__hold_bytes(s, n, pc).at;
  *quiet = false;
  if (at != s) hd__symbolic_reads(s, n, pc);
  writes(d, n, pc);
  if (hd__symbolic_active())
    at == s ? hd__bytes_copy((uint64_t)d, (uint64_t)s, n) : hd__bytes_clear((uint64_t)d, n);
  return at;
}

static void *copy(void *d, const void *s, size_t n, uint64_t pc) {
  if (hot.active) s = hold_block(d, s, n, pc);
  if (HD_UNLIKELY(!real_memcpy)) {
    hd__copy(d, s, n);
    return d;
  }
  return real_memcpy(d, s, n);
}

static void *move(void *d, const void *s, size_t n, uint64_t pc) {
  if (hot.active) s = hold_block(d, s, n, pc);
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

/* ---- comparing ---- */

static int memory_n(const void *a, const void *b, size_t n) { return real_memcmp(a, b, n); }
static int string_n(const void *a, const void *b, size_t n) { return real_strncmp(a, b, n); }
static int fold_n(const void *a, const void *b, size_t n) { return real_strncasecmp(a, b, n); }
static const struct hd_compare memory = {1, false, false, memory_n}, string = {1, true, false, string_n},
                               fold = {1, true, true, fold_n};

static int compare(const void *a, const void *b, size_t n, uint64_t pc) {
  ready();
  return hot.active ? hd__compare(&memory, a, b, n, pc) : real_memcmp(a, b, n);
}

HD_EXPORT int memcmp(const void *a, const void *b, size_t n) { return compare(a, b, n, HD_CALLER); }
HD_EXPORT int bcmp(const void *a, const void *b, size_t n) { return compare(a, b, n, HD_CALLER); }

#define COMPARE(name, how, args, call, max)                                         \
  HD_EXPORT int name args {                                                         \
    ready();                                                                        \
    return hot.active ? hd__compare(&how, a, b, max, HD_CALLER) : real_##name call; \
  }
COMPARE(strcmp, string, (const char *a, const char *b), (a, b), SIZE_MAX)
COMPARE(strncmp, string, (const char *a, const char *b, size_t n), (a, b, n), n)
COMPARE(strcasecmp, fold, (const char *a, const char *b), (a, b), SIZE_MAX)
COMPARE(strncasecmp, fold, (const char *a, const char *b, size_t n), (a, b, n), n)

/* ---- searching ---- */

/* A character that is looked for. */
struct wanted {
  int c;
  size_t max;
};

static size_t to_byte(const char *s, const void *arg) {
  const struct wanted *w = arg;
  const char *r = real_memchr(s, w->c, w->max);
  return r ? (size_t)(r - s) + 1 : w->max;
}

static size_t to_character(const char *s, const void *arg) {
  const char *r = real_strchr(s, ((const struct wanted *)arg)->c);
  return (r ? (size_t)(r - s) : real_strlen(s)) + 1;
}

/* The same place in the program's memory. */
static void *there(const void *s, struct hd_held h, const char *found) {
  return found ? (char *)(uintptr_t)s + (found - h.at) : NULL;
}

HD_EXPORT void *memchr(const void *s, int c, size_t n) {
  ready();
  if (!hot.active) return real_memchr(s, c, n);
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold(s, to_byte, &(struct wanted){c, n}, HD_CALLER);
  if (keep) hd__keep_end(), hd__library_search(s, h.n, c, false, HD_CALLER);
  return there(s, h, real_memchr(h.at, c, h.n));
}

HD_EXPORT char *strchr(const char *s, int c) {
  ready();
  if (!hot.active) return real_strchr(s, c);
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold(s, to_character, &(struct wanted){c, 0}, HD_CALLER);
  if (keep) hd__keep_end(), hd__library_search(s, h.n, c, true, HD_CALLER);
  return there(s, h, real_strchr(h.at, c));
}

HD_EXPORT char *strrchr(const char *s, int c) {
  ready();
  if (!hot.active) return real_strrchr(s, c);
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold_string(s, SIZE_MAX, HD_CALLER);
  if (keep) hd__keep_end(), hd__library_last(s, h.n, c, HD_CALLER);
  return there(s, h, real_strrchr(h.at, c));
}

HD_EXPORT char *strstr(const char *s, const char *t) {
  ready();
  if (!hot.active) return real_strstr(s, t);
  return hd__find_text(s, t, false, HD_CALLER);
}

/* ---- strings ---- */

/* Reads a string, of which only the length matters here. */
static struct hd_held measure(const char *s, size_t max, uint64_t pc) {
  bool keep = hd__keep_begin();
  struct hd_held h = hd__hold_string(s, max, pc);
  if (keep) hd__keep_end(), hd__library_string(s, h.n, pc);
  return h;
}

/* What was measured has been copied, or will be: not a copy of it. */
static void copy_symbols(char *d, const char *s, struct hd_held h, size_t n) {
  if (!hd__symbolic_active()) return;
  if (h.at == s)
    hd__bytes_copy((uint64_t)d, (uint64_t)s, n);
  else
    hd__bytes_concrete((uint64_t)s, n, HD_WHY_MEMORY, 0), hd__bytes_clear((uint64_t)d, n);
}

static size_t length(const char *s, size_t max, uint64_t pc) {
  struct hd_held h = measure(s, max, pc);
  return h.n && !h.at[h.n - 1] ? h.n - 1 : h.n;
}

HD_EXPORT size_t strlen(const char *s) {
  ready();
  return hot.active ? measure(s, SIZE_MAX, HD_CALLER).n - 1 : real_strlen(s);
}

HD_EXPORT size_t strnlen(const char *s, size_t max) {
  ready();
  return hot.active ? length(s, max, HD_CALLER) : real_strnlen(s, max);
}

/* ---- copying ---- */

HD_EXPORT void __chk_fail(void) __attribute__((noreturn));
void __chk_fail(void) { hd__overflows(HD_CALLER); }

void hd__overflows(uint64_t pc) {
  if (hot.active) hd__report_simple(HD_KIND_ABORT, 0, pc, "buffer overflow detected (_FORTIFY_SOURCE)", true);
  abort();
}

#define CHECK(n, room) \
  if ((n) > (room)) __chk_fail()

/* Copies the string to a place with that room, and returns the end of the copy. */
static char *copy_string(char *d, const char *s, size_t room, uint64_t pc) {
  struct hd_held h = {s, 0};
  ready();
  if (hot.active)
    h = measure(s, SIZE_MAX, pc);
  else
    h.n = real_strlen(s) + 1;
  CHECK(h.n, room);
  if (hot.active) copy_symbols(d, s, h, h.n);
  writes(d, h.n, pc);
  real_memcpy(d, h.at, h.n);
  return d + h.n - 1;
}

static char *copy_some(char *d, const char *s, size_t n, uint64_t pc) {
  ready();
  if (hot.active) {
    struct hd_held h = measure(s, n, pc);
    copy_symbols(d, s, h, h.n);
    if (hd__symbolic_active()) hd__bytes_clear((uint64_t)d + h.n, n - h.n);
    s = h.at;
    writes(d, n, pc);
  }
  return real_strncpy(d, s, n);
}

/* Appends at most n characters, and a zero. */
static char *append(char *d, const char *s, size_t n, size_t room, uint64_t pc) {
  ready();
  struct hd_held h = {s, 0};
  if (hot.active) h = measure(s, n, pc);
  size_t m = real_strnlen(h.at, n), k = hot.active ? measure(d, SIZE_MAX, pc).n - 1 : real_strlen(d);
  CHECK(k + m + 1, room);
  if (hot.active) copy_symbols(d + k, s, h, m);
  if (hot.active && hd__symbolic_active()) hd__bytes_clear((uint64_t)d + k + m, 1);
  s = h.at;
  writes(d + k, m + 1, pc);
  real_memcpy(d + k, s, m);
  d[k + m] = 0;
  return d;
}

HD_EXPORT char *stpcpy(char *restrict d, const char *restrict s) {
  return copy_string(d, s, SIZE_MAX, HD_CALLER);
}
HD_EXPORT char *strcpy(char *restrict d, const char *restrict s) {
  copy_string(d, s, SIZE_MAX, HD_CALLER);
  return d;
}
HD_EXPORT char *strncpy(char *restrict d, const char *restrict s, size_t n) {
  return copy_some(d, s, n, HD_CALLER);
}
HD_EXPORT char *strcat(char *restrict d, const char *restrict s) {
  return append(d, s, SIZE_MAX, SIZE_MAX, HD_CALLER);
}
HD_EXPORT char *strncat(char *restrict d, const char *restrict s, size_t n) {
  return append(d, s, n, SIZE_MAX, HD_CALLER);
}

static char *duplicate(const char *s, size_t max, uint64_t pc) {
  struct hd_held h = {s, real_strnlen(s, max) + 1};
  if (hot.active) {
    h = measure(s, max, pc);
    h.n = real_strnlen(h.at, h.n) + 1;
  }
  char *d = hd__malloc_for_program(h.n, pc);
  if (!d) return NULL;
  if (hot.active) copy_symbols(d, s, h, h.n - 1);
  writes(d, h.n, pc);
  hd__copy(d, h.at, h.n - 1);
  d[h.n - 1] = 0;
  return d;
}

HD_EXPORT char *strdup(const char *s) {
  ready();
  return duplicate(s, SIZE_MAX, HD_CALLER);
}

HD_EXPORT char *strndup(const char *s, size_t max) {
  ready();
  return duplicate(s, max, HD_CALLER);
}

/* ---- the variants of _FORTIFY_SOURCE, which also have the size of the destination ---- */

#define FORTIFIED(ret, name, params, call) \
  HD_EXPORT ret __##name##_chk params;     \
  ret __##name##_chk params {              \
    ready();                               \
    return call;                           \
  }

#define WITHIN(n, room, call) ((n) > (room) ? (__chk_fail(), NULL) : (call))
FORTIFIED(void *, memcpy, (void *d, const void *s, size_t n, size_t room),
          WITHIN(n, room, copy(d, s, n, HD_CALLER)))
FORTIFIED(void *, memmove, (void *d, const void *s, size_t n, size_t room),
          WITHIN(n, room, move(d, s, n, HD_CALLER)))
FORTIFIED(void *, memset, (void *d, int c, size_t n, size_t room), WITHIN(n, room, set(d, c, n, HD_CALLER)))
FORTIFIED(void *, mempcpy, (void *d, const void *s, size_t n, size_t room),
          WITHIN(n, room, (char *)copy(d, s, n, HD_CALLER) + n))
FORTIFIED(char *, strcpy, (char *d, const char *s, size_t room), (copy_string(d, s, room, HD_CALLER), d))
FORTIFIED(char *, stpcpy, (char *d, const char *s, size_t room), copy_string(d, s, room, HD_CALLER))
FORTIFIED(char *, strncpy, (char *d, const char *s, size_t n, size_t room),
          WITHIN(n, room, copy_some(d, s, n, HD_CALLER)))
FORTIFIED(char *, strcat, (char *d, const char *s, size_t room), append(d, s, SIZE_MAX, room, HD_CALLER))
FORTIFIED(char *, strncat, (char *d, const char *s, size_t n, size_t room), append(d, s, n, room, HD_CALLER))
