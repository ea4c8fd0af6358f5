/* pieces.c: argument vectors, patterns, names and messages: memory that rare functions of libc access for their caller. Runs
 * in the tested process. As results.c. A vector of argz.h is a pointer and a size, both of the caller. */
#include <argz.h>
#include <envz.h>
#include <err.h>
#include <errno.h>
#include <execinfo.h>
#include <fts.h>
#include <ftw.h>
#include <glob.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <regex.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <wordexp.h>

#include "runtime/wrap/results.h"

#define TEXT(d) WRITES(d, real_strlen(d) + 1)

/* ---- strings ---- */

RESULT(char *, strerror_r, (int e, char *d, size_t n), (e, d, n), NOTHING, r == d && n, TEXT(d))
RESULT(int, __xpg_strerror_r, (int e, char *d, size_t n), (e, d, n), NOTHING, n, TEXT(d))
#undef index
#undef rindex
CALL(char *, index, (const char *s, int c), (s, c), READS_STRING(s))
CALL(char *, rindex, (const char *s, int c), (s, c), READS_STRING(s))
CALL(int, strverscmp, (const char *a, const char *b), (a, b), READS_STRING(a); READS_STRING(b))
CALL(char *, strfry, (char *s), (s), READS_STRING(s); if (hot.active) WRITES(s, real_strlen(s)))
CALL(void *, memfrob, (void *p, size_t n), (p, n), READS(p, n); WRITES(p, n))
CALL(long, a64l, (const char *s), (s), READS_STRING(s))
#undef basename
CALL(char *, basename, (const char *s), (s), READS_STRING(s))
RESULT(char *, __xpg_basename, (char *s), (s), READS_STRING(s), s &&r > s && r < s + real_strlen(s),
       WRITES(r - 1, 1))
extern char *dirname(char *s);
RESULT(char *, dirname, (char *s), (s), READS_STRING(s), r == s && s, WRITES(s + real_strlen(s), 1))
CALL(int, ecvt_r, (double v, int k, int *restrict p, int *restrict sign, char *restrict d, size_t n),
     (v, k, p, sign, d, n), WRITES(p, sizeof *p);
     WRITES(sign, sizeof *sign); WRITES(d, (size_t)(k > 0 ? k : 0) < n ? (size_t)(k > 0 ? k : 0) + 1 : n))
RESULT(int, fcvt_r, (double v, int k, int *restrict p, int *restrict sign, char *restrict d, size_t n),
       (v, k, p, sign, d, n), WRITES(p, sizeof *p);
       WRITES(sign, sizeof *sign), r == 0, TEXT(d))

static void reads_tokens(char *const *t, uint64_t pc) {
  for (; hot.active; t++) {
    hd__reads(t, sizeof *t, pc);
    if (!*t) return;
    hd__reads_string(*t, pc);
  }
}
RESULT(int, getsubopt, (char **restrict s, char *const *restrict tokens, char **restrict value),
       (s, tokens, value), READS(s, sizeof *s);
       READS_STRING(*s); reads_tokens(tokens, HD_CALLER), true, WRITES(value, sizeof *value);
       WRITES(s, sizeof *s); if (**s) WRITES(*s - 1, 1))

/* ---- argument vectors ---- */

/* A vector that the function may make larger or smaller: all of it counts as written. */
#define VECTOR                   \
  READS(v, sizeof *v);           \
  READS(n, sizeof *n);           \
  if (hot.active) READS(*v, *n); \
  ALLOCATES
#define CHANGED         \
  WRITES(v, sizeof *v); \
  WRITES(n, sizeof *n); \
  WRITES(*v, *n)
#define OK r == 0 && *v

static void reads_arguments(char *const *a, uint64_t pc) { reads_tokens(a, pc); }
RESULT(error_t, argz_create, (char *const *a, char **restrict v, size_t *restrict n), (a, v, n),
       reads_arguments(a, HD_CALLER);
       ALLOCATES, r == 0, CHANGED)
RESULT(error_t, argz_create_sep, (const char *restrict s, int sep, char **restrict v, size_t *restrict n),
       (s, sep, v, n), READS_STRING(s);
       ALLOCATES, r == 0, CHANGED)
CALL(size_t, argz_count, (const char *v, size_t n), (v, n), READS(v, n))
HD_EXPORT void argz_extract(const char *restrict v, size_t n, char **restrict to) {
  static void *found;
  hd__real_init();
  READS(v, n);
  ((void (*)(const char *, size_t, char **))hd__original(&found, "argz_extract"))(v, n, to);
  size_t k = 0;
  while (hot.active && to[k]) k++;
  WRITES(to, (k + 1) * sizeof *to);
}
HD_EXPORT void argz_stringify(char *v, size_t n, int sep) {
  static void *found;
  hd__real_init();
  READS(v, n);
  WRITES(v, n);
  ((void (*)(char *, size_t, int))hd__original(&found, "argz_stringify"))(v, n, sep);
}
RESULT(error_t, argz_append, (char **restrict v, size_t *restrict n, const char *restrict b, size_t k),
       (v, n, b, k), VECTOR;
       READS(b, k), OK, CHANGED)
RESULT(error_t, argz_add, (char **restrict v, size_t *restrict n, const char *restrict s), (v, n, s), VECTOR;
       READS_STRING(s), OK, CHANGED)
RESULT(error_t, argz_add_sep, (char **restrict v, size_t *restrict n, const char *restrict s, int sep),
       (v, n, s, sep), VECTOR;
       READS_STRING(s), OK, CHANGED)
HD_EXPORT void argz_delete(char **restrict v, size_t *restrict n, char *restrict entry) {
  static void *found;
  hd__real_init();
  VECTOR;
  ((void (*)(char **, size_t *, char *))hd__original(&found, "argz_delete"))(v, n, entry);
  hd__allocating(0);
  if (!hot.active) return;
  CHANGED;
}
RESULT(error_t, argz_insert,
       (char **restrict v, size_t *restrict n, char *restrict before, const char *restrict s),
       (v, n, before, s), VECTOR;
       READS_STRING(s), OK, CHANGED)
RESULT(error_t, argz_replace,
       (char **restrict v, size_t *restrict n, const char *restrict s, const char *restrict with,
        unsigned *restrict count),
       (v, n, s, with, count), VECTOR;
       READS_STRING(s); READS_STRING(with), OK, CHANGED; if (count) WRITES(count, sizeof *count))
CALL(char *, argz_next, (const char *restrict v, size_t n, const char *restrict entry), (v, n, entry),
     READS_STRING(entry))
CALL(char *, envz_entry, (const char *restrict v, size_t n, const char *restrict s), (v, n, s), READS(v, n);
     READS_STRING(s))
CALL(char *, envz_get, (const char *restrict v, size_t n, const char *restrict s), (v, n, s), READS(v, n);
     READS_STRING(s))
RESULT(error_t, envz_add,
       (char **restrict v, size_t *restrict n, const char *restrict s, const char *restrict value),
       (v, n, s, value), VECTOR;
       READS_STRING(s); READS_STRING(value), OK, CHANGED)
RESULT(error_t, envz_merge,
       (char **restrict v, size_t *restrict n, const char *restrict from, size_t k, int over),
       (v, n, from, k, over), VECTOR;
       READS(from, k), OK, CHANGED)
HD_EXPORT void envz_remove(char **restrict v, size_t *restrict n, const char *restrict s) {
  static void *found;
  hd__real_init();
  VECTOR;
  READS_STRING(s);
  ((void (*)(char **, size_t *, const char *))hd__original(&found, "envz_remove"))(v, n, s);
  hd__allocating(0);
  if (!hot.active) return;
  CHANGED;
}
HD_EXPORT void envz_strip(char **restrict v, size_t *restrict n) {
  static void *found;
  hd__real_init();
  VECTOR;
  ((void (*)(char **, size_t *))hd__original(&found, "envz_strip"))(v, n);
  hd__allocating(0);
  if (!hot.active) return;
  CHANGED;
}

/* ---- patterns and trees of files ---- */

RESULT(int, wordexp, (const char *restrict s, wordexp_t *restrict w, int flags), (s, w, flags),
       READS_STRING(s);
       ALLOCATES, true, WRITES(w, sizeof *w))
HD_EXPORT void wordfree(wordexp_t *w) {
  static void *found;
  hd__real_init();
  READS(w, sizeof *w);
  WRITES(w, sizeof *w);
  ((void (*)(wordexp_t *))hd__original(&found, "wordfree"))(w);
}
HD_EXPORT void globfree(glob_t *g) {
  static void *found;
  hd__real_init();
  READS(g, sizeof *g);
  WRITES(g, sizeof *g);
  ((void (*)(glob_t *))hd__original(&found, "globfree"))(g);
}
/* An open tree has no lock: every call changes it. */
CALL(FTSENT *, fts_read, (FTS * t), (t), WRITES(t, sizeof *t))
CALL(FTSENT *, fts_children, (FTS * t, int flags), (t, flags), WRITES(t, sizeof *t))
CALL(int, fts_set, (FTS * t, FTSENT *e, int flags), (t, e, flags), WRITES(&e->fts_instr, sizeof e->fts_instr))
CALL(int, fts_close, (FTS * t), (t), WRITES(t, sizeof *t))
CALL(FTS *, fts_open, (char *const *a, int flags, int (*c)(const FTSENT **, const FTSENT **)), (a, flags, c),
     reads_arguments(a, HD_CALLER);
     ALLOCATES)
CALL(int, ftw, (const char *s, __ftw_func_t f, int n), (s, f, n), READS_STRING(s))
CALL(int, nftw, (const char *s, __nftw_func_t f, int n, int flags), (s, f, n, flags), READS_STRING(s))
RESULT(char *, mktemp, (char *s), (s), READS_STRING(s), *s, WRITES(s + real_strlen(s) - 6, 6))
RESULT(char *, tmpnam_r, (char s[L_tmpnam]), (s), NOTHING, r != NULL, TEXT(s))
RESULT(size_t, regerror, (int e, const regex_t *restrict x, char *restrict d, size_t n), (e, x, d, n),
       READS(x, sizeof *x), n, WRITES(d, r < n ? r : n))
HD_EXPORT void regfree(regex_t *x) {
  static void *found;
  hd__real_init();
  WRITES(x, sizeof *x);
  ((void (*)(regex_t *))hd__original(&found, "regfree"))(x);
}

/* ---- tables ---- */

CALL(int, hcreate_r, (size_t n, struct hsearch_data *t), (n, t), WRITES(t, sizeof *t))
HD_EXPORT void hdestroy_r(struct hsearch_data *t) {
  static void *found;
  hd__real_init();
  WRITES(t, sizeof *t);
  ((void (*)(struct hsearch_data *))hd__original(&found, "hdestroy_r"))(t);
}
CALL(void *, lfind, (const void *key, const void *base, size_t *n, size_t size, __compar_fn_t compare),
     (key, base, n, size, compare), READS(n, sizeof *n))

/* ---- networks ---- */

RESULT(char *, if_indextoname, (unsigned i, char d[IF_NAMESIZE]), (i, d), NOTHING, r != NULL, TEXT(d))
CALL(unsigned, if_nametoindex, (const char *s), (s), READS_STRING(s))
CALL(in_addr_t, inet_addr, (const char *s), (s), READS_STRING(s))
CALL(in_addr_t, inet_network, (const char *s), (s), READS_STRING(s))
RESULT(char *, ether_ntoa_r, (const struct ether_addr *a, char *d), (a, d), READS(a, sizeof *a), true,
       TEXT(d))
RESULT(struct ether_addr *, ether_aton_r, (const char *s, struct ether_addr *a), (s, a), READS_STRING(s),
       r != NULL, WRITES(a, sizeof *a))

/* ---- random numbers, dates, signals ---- */

CALL(int, initstate_r, (unsigned seed, char *restrict s, size_t n, struct random_data *restrict t),
     (seed, s, n, t), WRITES(s, n);
     WRITES(t, sizeof *t))
CALL(int, setstate_r, (char *restrict s, struct random_data *restrict t), (s, t), WRITES(t, sizeof *t))
CALL(int, erand48_r, (unsigned short x[3], struct drand48_data *restrict t, double *restrict v), (x, t, v),
     WRITES(x, 3 * sizeof *x);
     READS(t, sizeof *t); WRITES(v, sizeof *v))
CALL(int, nrand48_r, (unsigned short x[3], struct drand48_data *restrict t, long *restrict v), (x, t, v),
     WRITES(x, 3 * sizeof *x);
     READS(t, sizeof *t); WRITES(v, sizeof *v))
CALL(int, jrand48_r, (unsigned short x[3], struct drand48_data *restrict t, long *restrict v), (x, t, v),
     WRITES(x, 3 * sizeof *x);
     READS(t, sizeof *t); WRITES(v, sizeof *v))
CALL(int, seed48_r, (unsigned short x[3], struct drand48_data *t), (x, t), READS(x, 3 * sizeof *x);
     WRITES(t, sizeof *t))
CALL(int, lcong48_r, (unsigned short x[7], struct drand48_data *t), (x, t), READS(x, 7 * sizeof *x);
     WRITES(t, sizeof *t))
RESULT(int, getdate_r, (const char *restrict s, struct tm *restrict t), (s, t), LOCAL_TIME;
       READS_STRING(s), r == 0, WRITES(t, sizeof *t))
CALL(int, sigorset, (sigset_t * d, const sigset_t *a, const sigset_t *b), (d, a, b), READS(a, sizeof *a);
     READS(b, sizeof *b); WRITES(d, sizeof *d))
CALL(int, sigandset, (sigset_t * d, const sigset_t *a, const sigset_t *b), (d, a, b), READS(a, sizeof *a);
     READS(b, sizeof *b); WRITES(d, sizeof *d))
CALL(int, sigisemptyset, (const sigset_t *s), (s), READS(s, sizeof *s))

/* ---- attributes ---- */

#define ATTRIBUTE(name, attr, type) CALL(int, name, (attr * a, type v), (a, v), WRITES(a, sizeof *a))
ATTRIBUTE(pthread_attr_setschedpolicy, pthread_attr_t, int)
ATTRIBUTE(pthread_attr_setinheritsched, pthread_attr_t, int)
ATTRIBUTE(pthread_attr_setscope, pthread_attr_t, int)
ATTRIBUTE(pthread_condattr_setpshared, pthread_condattr_t, int)
ATTRIBUTE(pthread_barrierattr_setpshared, pthread_barrierattr_t, int)
CALL(int, pthread_condattr_destroy, (pthread_condattr_t * a), (a), WRITES(a, sizeof *a))
CALL(int, pthread_rwlockattr_destroy, (pthread_rwlockattr_t * a), (a), WRITES(a, sizeof *a))
CALL(int, pthread_attr_setschedparam, (pthread_attr_t *restrict a, const struct sched_param *restrict p),
     (a, p), READS(p, sizeof *p);
     WRITES(a, sizeof *a))
RESULT(int, pthread_attr_getscope, (const pthread_attr_t *restrict a, int *restrict v), (a, v),
       READS(a, sizeof *a), r == 0, WRITES(v, sizeof *v))
RESULT(int, pthread_mutexattr_getpshared, (const pthread_mutexattr_t *restrict a, int *restrict v), (a, v),
       READS(a, sizeof *a), r == 0, WRITES(v, sizeof *v))

/* ---- settings of terminals, addresses of callers ---- */

CALL(int, cfsetispeed, (struct termios * t, speed_t v), (t, v), WRITES(t, sizeof *t))
CALL(int, cfsetospeed, (struct termios * t, speed_t v), (t, v), WRITES(t, sizeof *t))
CALL(int, cfsetspeed, (struct termios * t, speed_t v), (t, v), WRITES(t, sizeof *t))
HD_EXPORT void cfmakeraw(struct termios *t) {
  static void *found;
  hd__real_init();
  WRITES(t, sizeof *t);
  ((__typeof__(&cfmakeraw))hd__original(&found, "cfmakeraw"))(t);
}

#define CALLERS 256 /* of more, as many are returned */

/* Without this function itself. */
HD_EXPORT int backtrace(void **to, int n) {
  static void *found;
  void *all[CALLERS + 1];
  hd__real_init();
  int (*original)(void **, int) = (int (*)(void **, int))hd__original(&found, "backtrace");
  if (!hot.active || n <= 0) return original(to, n);
  int r = original(all, (n < CALLERS ? n : CALLERS) + 1) - 1;
  hd__allocating(0);
  if (r <= 0) return 0;
  for (int i = 0; i < r; i++) to[i] = all[i + 1];
  WRITES(to, (size_t)r * sizeof *to);
  return r;
}

/* ---- messages, which go to standard error ---- */

static void warns(const char *format, va_list ap, bool code, uint64_t pc) {
  static void *found[2];
  int e = errno;
  hd__real_init();
  if (hot.active && format) hd__hold_format(format, ap, pc);
  hd__stream_begin(stderr, true, pc);
  errno = e;
  ((void (*)(const char *, va_list))hd__original(&found[code], code ? "vwarn" : "vwarnx"))(format, ap);
  hd__stream_end(stderr, pc);
}
HD_EXPORT void vwarn(const char *format, va_list ap) { warns(format, ap, true, HD_CALLER); }
HD_EXPORT void vwarnx(const char *format, va_list ap) { warns(format, ap, false, HD_CALLER); }
HD_EXPORT void warn(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  warns(format, ap, true, HD_CALLER);
  va_end(ap);
}
HD_EXPORT void warnx(const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  warns(format, ap, false, HD_CALLER);
  va_end(ap);
}
HD_EXPORT void psignal(int sig, const char *s) {
  static void *found;
  hd__real_init();
  READS_STRING(s);
  hd__stream_begin(stderr, true, HD_CALLER);
  ((void (*)(int, const char *))hd__original(&found, "psignal"))(sig, s);
  hd__stream_end(stderr, HD_CALLER);
}
