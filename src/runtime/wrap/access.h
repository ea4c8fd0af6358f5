/* access.h: memory that a function of libc reads and writes for its caller. */
#ifndef HD_RUNTIME_ACCESS_H
#define HD_RUNTIME_ACCESS_H

#include <stdarg.h>
#include <string.h>

#include "runtime/core/core.h"
#include "runtime/core/state.h"
#include "runtime/memory/memory.h"
#include "runtime/symbolic/symbolic.h"
#include "runtime/wrap/wrap.h"

/* Accesses of the running thread, or of nobody while the runtime is not active. What a function writes is announced
 * before the call where it is known by then: others run before it does. */
static inline void hd__reads(const void *p, size_t n, uint64_t pc) {
  if (!p) return;
  hd__access_range((uint64_t)p, n, 0, pc);
  hd__symbolic_reads(p, n, pc);
}
static inline void hd__writes(const void *p, size_t n, uint64_t pc) {
  if (p) hd__access_range((uint64_t)p, n, HD_A_WRITE, pc);
}

/* A function of libc allocates memory for its caller, at pc; until it is called with 0. */
static inline void hd__allocating(uint64_t pc) {
  if (hot.active) rt.cur->allocating = pc;
}

/* ---- held.c ---- */

/* What a function has read, as it was then. */
struct hd_held {
  const char *at; /* the memory itself, or a copy where others may change it before the function is done */
  size_t n;       /* bytes */
};
/* How many bytes of the memory at p are read now. */
typedef size_t hd_measure(const char *p, const void *arg);
/* These read for the running thread. pre: hot.active. */
struct hd_held hd__hold(const void *p, hd_measure *measure, const void *arg, uint64_t pc);
struct hd_held hd__hold_bytes(const void *p, size_t n, uint64_t pc);
/* At most max characters; n counts the zero at the end, if there is one. */
struct hd_held hd__hold_string(const char *s, size_t max, uint64_t pc);
struct hd_held hd__hold_wide(const wchar_t *s, size_t max, uint64_t pc);

/* What a function like printf reads for its text (format.c). The text itself, where others may change that before it is
 * written; otherwise NULL. */
struct hd_held hd__hold_format(const char *format, va_list ap, uint64_t pc);

/* Compares at most max bytes, as `real` does with a number of characters. pre: hot.active. */
struct hd_compare {
  size_t width;    /* of a character */
  bool text, fold; /* whether a zero ends it, and whether case counts */
  int (*real)(const void *a, const void *b, size_t n);
};
int hd__compare(const struct hd_compare *how, const void *a, const void *b, size_t max, uint64_t pc);

static inline const char *hd__reads_string(const char *s, uint64_t pc) {
  return hot.active && s ? hd__hold_string(s, SIZE_MAX, pc).at : s;
}

/* text.c: strstr, or strcasestr. */
char *hd__find_text(const char *s, const char *t, bool fold, uint64_t pc);

/* string.c: a destination is too small, as _FORTIFY_SOURCE sees it. */
_Noreturn void hd__overflows(uint64_t pc);

/* For exported functions. */
#define READS(p, n) hd__reads((p), (n), HD_CALLER)
#define WRITES(p, n) hd__writes((p), (n), HD_CALLER)
#define READS_STRING(s) hd__reads_string((s), HD_CALLER)
#define ALLOCATES hd__allocating(HD_CALLER)
/* The function depends on the locale. */
#define LOCALE hd__depends(HD_STATE_LOCALE, HD_CALLER)
/* Local time: TZ in the environment is looked at by all but the functions that end in _r. */
#define LOCAL_TIME_R (hd__lookup(HD_STATE_ZONE, 0, HD_CALLER), hd__zone_used(false, HD_CALLER))
#define LOCAL_TIME                                                                      \
  (hd__lookup(HD_STATE_ENVIRON, 0, HD_CALLER), hd__lookup(HD_STATE_ZONE, 0, HD_CALLER), \
   hd__zone_used(true, HD_CALLER))
/* A function is about to read the time zone: again, or only if none has (hidden.c). It writes timezone, daylight, tzname. */
void hd__zone_used(bool again, uint64_t pc);

#endif
