/* unlocked.c: functions of stdio that take no lock. Runs in the tested process.
 *
 * Whoever else uses the stream without order races with them: calls that change it count as a write to its first word, the
 * others as a read of that. Optimising compilers have some of these inline, and then access the stream themselves. */
#include <stdio.h>
#include <wchar.h>

#include "runtime/symbolic/sources.h"
#include "runtime/wrap/results.h"

#undef getc_unlocked
#undef putc_unlocked
#undef getchar_unlocked
#undef putchar_unlocked
#undef fgetc_unlocked
#undef fputc_unlocked
#undef feof_unlocked
#undef ferror_unlocked

static void stream(FILE *f, unsigned flags, uint64_t pc) {
  if (hot.active) hd__access_slow((uint64_t)f, 8, flags, pc);
}

static size_t wide_size(const wchar_t *s) {
  size_t n = 0;
  while (s[n]) n++;
  return (n + 1) * sizeof *s;
}

#define CHANGES(ret, name, params, args, f) \
  RESULT(ret, name, params, args, stream(f, HD_A_WRITE, HD_CALLER), false, NOTHING)
/* Reads from it, which may be an input. */
#define GETS_WIDE(name, params, args, f)                                                     \
  RESULT(wint_t, name, params, args, (stream(f, HD_A_WRITE, HD_CALLER), hd__source_open(f)), \
         hd__nsources != 0, hd__source_close(f, HD_CALLER))
#define GETS(name, params, args, f)                                                                          \
  RESULT(int, name, params, args, (stream(f, HD_A_WRITE, HD_CALLER), hd__source_open(f)), hd__nsources != 0, \
         (hd__source_one(f, r), hd__source_close(f, HD_CALLER), hd__source_result()))
#define ASKS(name) RESULT(int, name, (FILE * f), (f), stream(f, 0, HD_CALLER), false, NOTHING)

GETS(fgetc_unlocked, (FILE * f), (f), f)
GETS(getc_unlocked, (FILE * f), (f), f)
GETS(getchar_unlocked, (void), (), stdin)
CHANGES(int, fputc_unlocked, (int c, FILE *f), (c, f), f)
CHANGES(int, putc_unlocked, (int c, FILE *f), (c, f), f)
CHANGES(int, putchar_unlocked, (int c), (c), stdout)
CHANGES(int, fflush_unlocked, (FILE * f), (f), f)
GETS_WIDE(fgetwc_unlocked, (FILE * f), (f), f)
GETS_WIDE(getwc_unlocked, (FILE * f), (f), f)
GETS_WIDE(getwchar_unlocked, (void), (), stdin)
CHANGES(wint_t, fputwc_unlocked, (wchar_t c, FILE *f), (c, f), f)
CHANGES(wint_t, putwc_unlocked, (wchar_t c, FILE *f), (c, f), f)
CHANGES(wint_t, putwchar_unlocked, (wchar_t c), (c), stdout)
/* What is left of these where the compiler has inlined them. */
extern int __uflow(FILE *f), __overflow(FILE *f, int c);
extern wint_t __wuflow(FILE *f), __woverflow(FILE *f, wint_t c);
GETS(__uflow, (FILE * f), (f), f)
CHANGES(int, __overflow, (FILE * f, int c), (f, c), f)
GETS_WIDE(__wuflow, (FILE * f), (f), f)
CHANGES(wint_t, __woverflow, (FILE * f, wint_t c), (f, c), f)
ASKS(feof_unlocked)
ASKS(ferror_unlocked)

HD_EXPORT void clearerr_unlocked(FILE *f) {
  static void *found;
  hd__real_init();
  stream(f, HD_A_WRITE, HD_CALLER);
  ((void (*)(FILE *))hd__original(&found, "clearerr_unlocked"))(f);
}

/* ---- lines ---- */

RESULT(char *, fgets_unlocked, (char *restrict d, int n, FILE *restrict f), (d, n, f),
       (stream(f, HD_A_WRITE, HD_CALLER), hd__source_open(f)), r != NULL || hd__nsources,
       (hd__source_copied(f, r, '\n', HD_CALLER), hd__source_close(f, HD_CALLER),
        r ? WRITES(r, real_strlen(r) + 1) : (void)0))
RESULT(int, fputs_unlocked, (const char *restrict s, FILE *restrict f), (s, f), s = READS_STRING(s);
       stream(f, HD_A_WRITE, HD_CALLER), false, NOTHING)
RESULT(wchar_t *, fgetws_unlocked, (wchar_t *restrict d, int n, FILE *restrict f), (d, n, f),
       (stream(f, HD_A_WRITE, HD_CALLER), hd__source_open(f)), r != NULL || hd__nsources,
       (hd__source_close(f, HD_CALLER), r ? WRITES(r, wide_size(r)) : (void)0))
RESULT(int, fputws_unlocked, (const wchar_t *restrict s, FILE *restrict f), (s, f),
       if (hot.active) hd__hold_wide(s, SIZE_MAX, HD_CALLER);
       stream(f, HD_A_WRITE, HD_CALLER), false, NOTHING)
