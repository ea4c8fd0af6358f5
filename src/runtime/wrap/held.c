/* held.c: what a function of libc reads, as it was when the function read it. Runs in the tested process.
 *
 * A function reads one string, then another, then it writes, and others may run between these steps. So what it has read is
 * copied where others may change it: where reading it was a scheduling point. How far a string goes is measured when the
 * thread is chosen to read it, not when it arrives there. */
#include <ctype.h>

#include "runtime/core/spin.h"
#include "runtime/symbolic/library.h"
#include "runtime/wrap/access.h"

#define PADDING 8 /* zero bytes behind a copy: the end of a string of any width */

static const char *copy_of(const char *p, size_t n) {
  char *copy = hd_arena_get(&rt.arena, n + PADDING);
  HD_BUG_ON(!copy);
  hd__copy(copy, p, n);
  hd__zero(copy + n, PADDING);
  return copy;
}

struct hd_held hd__hold_bytes(const void *p, size_t n, uint64_t pc) {
  uint64_t steps = rt.path_len;
  hd__access_range((uint64_t)p, n, 0, pc);
  hd__symbolic_reads(p, n, pc);
  return (struct hd_held){HD_LIKELY(rt.path_len == steps) ? p : copy_of(p, n), n};
}

static struct hd_held hold(const void *p, hd_measure *measure, const void *arg, uint64_t pc) {
  size_t n = measure(p, arg);
  if (HD_LIKELY(!rt.nunjoined || !hd__shadow_visible((uint64_t)p, n))) {
    uint64_t steps = rt.path_len;
    hd__access_range((uint64_t)p, n, 0, pc);
    if (HD_LIKELY(rt.path_len == steps)) return (struct hd_held){p, n};
    n = measure(p, arg); /* it was found to be contended just now, and a systematic search starts over */
  } else {
    hd__block_check((uint64_t)p, n, 0, pc);
    hd__point_open(HD_OP_READ, (uint64_t)p, (uint32_t)n, pc);
    n = measure(p, arg);
    rt.cur->op.size = (uint32_t)n;
    hd__event(0);
    rt.cur->spin.mode = HD_SPIN_SEEN; /* the scheduling point was here */
    hd__access_cas((uint64_t)p, n, 0, pc, NULL);
  }
  return (struct hd_held){copy_of(p, n), n};
}

struct hd_held hd__hold(const void *p, hd_measure *measure, const void *arg, uint64_t pc) {
  struct hd_held h = hold(p, measure, arg, pc);
  hd__symbolic_reads(p, h.n, pc);
  return h;
}

static size_t string_bytes(const char *s, const void *max) {
  size_t room = *(const size_t *)max;
  if (room == SIZE_MAX) return real_strlen(s) + 1;
  size_t n = real_strnlen(s, room);
  return n < room ? n + 1 : n;
}

struct hd_held hd__hold_string(const char *s, size_t max, uint64_t pc) {
  return hd__hold(s, string_bytes, &max, pc);
}

static size_t wide_bytes(const char *s, const void *max) {
  const wchar_t *w = (const wchar_t *)s;
  size_t room = *(const size_t *)max, n = 0;
  while (n < room && w[n]) n++;
  return (n < room ? n + 1 : n) * sizeof *w;
}

struct hd_held hd__hold_wide(const wchar_t *s, size_t max, uint64_t pc) {
  return hd__hold(s, wide_bytes, &max, pc);
}

/* ---- comparing ---- */

struct comparison {
  const struct hd_compare *how;
  const char *with;
  size_t max; /* bytes */
};

static bool differ(const struct hd_compare *how, const char *a, const char *b) {
  if (how->width == sizeof(wchar_t)) return *(const wchar_t *)a != *(const wchar_t *)b;
  return how->fold ? tolower((unsigned char)*a) != tolower((unsigned char)*b) : *a != *b;
}

static bool ends(const struct hd_compare *how, const char *a) {
  return how->text && (how->width == sizeof(wchar_t) ? !*(const wchar_t *)a : !*a);
}

/* Bytes that it reads of either: up to the first difference, or the end. */
static size_t compared(const char *a, const void *arg) {
  const struct comparison *c = arg;
  size_t n = 0;
  if (c->how->width == 1 && !c->how->fold) /* most are of this kind */
    while (n < c->max && a[n] == c->with[n] && (a[n] || !c->how->text)) n++;
  else
    while (n < c->max && !differ(c->how, a + n, c->with + n) && !ends(c->how, a + n)) n += c->how->width;
  return n < c->max ? n + c->how->width : n;
}

int hd__compare(const struct hd_compare *how, const void *a, const void *b, size_t max, uint64_t pc) {
  for (;;) {
    bool keep = how->width == 1 && hd__keep_begin();
    struct hd_held x = hd__hold(a, compared, &(struct comparison){how, b, max}, pc);
    struct hd_held y = x.n ? hd__hold(b, compared, &(struct comparison){how, x.at, x.n}, pc) : x;
    if (keep) hd__keep_end();
    if (!x.n) return 0;
    int r = how->real(x.at, y.at, y.n / how->width);
    if (keep && x.at == a) hd__library_compare(a, b, y.n, how->text, how->fold, r, pc);
    if (keep && x.at != a)
      hd__symbolic_reads(a, x.n, pc), hd__symbolic_reads(b, y.n, pc); /* others ran in between */
    if (r || x.n == max || ends(how, y.at + y.n - how->width)) return r;
    a = (const char *)a + y.n; /* the second has changed since the first was read: it goes on */
    b = (const char *)b + y.n;
    max -= y.n;
  }
}
