/* statics.c: more functions that share variables of libc's own: those that few programs use. Runs in the tested process.
 *
 * As in hidden.c: calls that nothing orders are a data race, on a variable that stands for libc's, or on the result. */
#include <fstab.h>
#include <getopt.h>
#include <mntent.h>
#include <monetary.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <shadow.h>
#include <stdlib.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <utmpx.h>
#include <wchar.h>

#include "runtime/core/finding.h"
#include "runtime/wrap/results.h"

/* One for each variable, or set of variables. */
static struct {
  uint64_t mount, user, network, host, service, protocol, shadow, utmp, table, shell, ether, digits, date,
      name, getopt;
} of;

/* A function that returns a structure of libc's, or what is in it. */
#define SHARED(type, which, name, params, args) \
  RESULT(type *, name, params, args, WRITES(&of.which, 8), r != NULL, WRITES(r, sizeof *r))
#define SHARED_TEXT(which, name, params, args) \
  RESULT(char *, name, params, args, WRITES(&of.which, 8), r != NULL, WRITES(r, real_strlen(r) + 1))

/* ---- entries of databases ---- */

HD_EXPORT struct mntent *getmntent(FILE *f) {
  static void *found;
  hd__real_init();
  WRITES(&of.mount, 8);
  hd__stream_begin(f, false, HD_CALLER);
  struct mntent *r = ((struct mntent * (*)(FILE *)) hd__original(&found, "getmntent"))(f);
  hd__stream_end(f, HD_CALLER);
  if (hot.active && r) WRITES(r, sizeof *r);
  return r;
}

SHARED(struct netent, network, getnetbyname, (const char *name), (name))
SHARED(struct netent, network, getnetbyaddr, (uint32_t net, int type), (net, type))
SHARED(struct netent, network, getnetent, (void), ())
SHARED(struct hostent, host, gethostent, (void), ())
SHARED(struct servent, service, getservent, (void), ())
SHARED(struct protoent, protocol, getprotoent, (void), ())
SHARED(struct spwd, shadow, getspnam, (const char *name), (name))
SHARED(struct spwd, shadow, getspent, (void), ())
SHARED(struct fstab, table, getfsent, (void), ())
SHARED(struct fstab, table, getfsspec, (const char *name), (name))
SHARED(struct fstab, table, getfsfile, (const char *name), (name))
SHARED(struct utmp, utmp, getutent, (void), ())
SHARED(struct utmp, utmp, getutid, (const struct utmp *u), (u))
SHARED(struct utmp, utmp, getutline, (const struct utmp *u), (u))
SHARED(struct utmpx, utmp, getutxent, (void), ())
SHARED(struct utmpx, utmp, getutxid, (const struct utmpx *u), (u))
SHARED(struct utmpx, utmp, getutxline, (const struct utmpx *u), (u))
SHARED_TEXT(shell, getusershell, (void), ())

/* ---- texts and numbers ---- */

SHARED(struct ether_addr, ether, ether_aton, (const char *s), (READS_STRING(s)))
SHARED_TEXT(ether, ether_ntoa, (const struct ether_addr *a), (a))
SHARED_TEXT(digits, qecvt, (long double x, int n, int *restrict point, int *restrict sign),
            (x, n, point, sign))
SHARED_TEXT(digits, qfcvt, (long double x, int n, int *restrict point, int *restrict sign),
            (x, n, point, sign))
SHARED(struct tm, date, getdate, (const char *s), (READS_STRING(s)))
RESULT(char *, tmpnam, (char d[L_tmpnam]), (d), if (!d) WRITES(&of.name, 8), r != NULL,
       WRITES(r, real_strlen(r) + 1))
RESULT(int, getopt_long_only,
       (int argc, char *const argv[], const char *options, const struct option *all, int *which),
       (argc, argv, options, all, which), WRITES(&of.getopt, 8);
       WRITES(&optind, sizeof optind); WRITES(&optarg, sizeof optarg), false, NOTHING)

/* ---- the log of the system ---- */

/* Its lock orders the calls. A text that was given to openlog is read by all that come later. */
static HD_EXEC const char *identity;
static HD_EXEC uint32_t epoch;
#define LOG 1

static void logs(const char *format, va_list ap, uint64_t pc) {
  if (!hot.active) return;
  hd__lookup(HD_STATE_LIBC, LOG, pc);
  if (epoch == rt.epoch && identity) hd__reads_string(identity, pc);
  hd__hold_format(format, ap, pc);
}

static void write_log(int priority, const char *format, va_list ap, uint64_t pc) {
  static void *found;
  va_list again;
  hd__real_init();
  va_copy(again, ap);
  logs(format, again, pc);
  va_end(again);
  ((void (*)(int, const char *, va_list))hd__original(&found, "vsyslog"))(priority, format, ap);
}

HD_EXPORT void openlog(const char *name, int option, int facility) {
  static void *found;
  hd__real_init();
  hd__change(HD_STATE_LIBC, LOG, HD_CALLER);
  if (hot.active) {
    identity = name;
    epoch = rt.epoch;
  }
  ((void (*)(const char *, int, int))hd__original(&found, "openlog"))(name, option, facility);
}

HD_EXPORT void closelog(void) {
  static void *found;
  hd__real_init();
  hd__change(HD_STATE_LIBC, LOG, HD_CALLER);
  identity = NULL;
  ((void (*)(void))hd__original(&found, "closelog"))();
}

HD_EXPORT int setlogmask(int mask) {
  static void *found;
  hd__real_init();
  if (mask)
    hd__change(HD_STATE_LIBC, LOG, HD_CALLER);
  else
    hd__lookup(HD_STATE_LIBC, LOG, HD_CALLER);
  return ((int (*)(int))hd__original(&found, "setlogmask"))(mask);
}

HD_EXPORT void vsyslog(int priority, const char *format, va_list ap) {
  write_log(priority, format, ap, HD_CALLER);
}

HD_EXPORT void syslog(int priority, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  write_log(priority, format, ap, HD_CALLER);
  va_end(ap);
}

HD_EXPORT void __vsyslog_chk(int priority, int flag, const char *format, va_list ap);
void __vsyslog_chk(int priority, int flag, const char *format, va_list ap) {
  (void)flag;
  write_log(priority, format, ap, HD_CALLER);
}

HD_EXPORT void __syslog_chk(int priority, int flag, const char *format, ...);
void __syslog_chk(int priority, int flag, const char *format, ...) {
  va_list ap;
  (void)flag;
  va_start(ap, format);
  write_log(priority, format, ap, HD_CALLER);
  va_end(ap);
}

/* ---- amounts of money ---- */

#define AMOUNTS 8 /* of a kind */

/* How many amounts the format has that are long, and that are not. */
static void count_amounts(const char *s, unsigned *plain, unsigned *longer) {
  for (; *s; s++) {
    if (*s != '%' || !*++s || *s == '%') continue;
    for (; *s == '=' || *s == '^' || *s == '!' || *s == '+' || *s == '(' || *s == '-'; s++)
      if (*s == '=' && s[1]) s++; /* what it is filled with */
    while ((*s >= '0' && *s <= '9') || *s == '#' || *s == '.') s++;
    if (*s == 'L')
      ++*longer, s++;
    else if (*s)
      ++*plain;
    if (!*s) return;
  }
}

/* The amounts are passed on: of a kind each, in the order of the format. The ABI keeps the kinds apart. */
HD_EXPORT ssize_t strfmon(char *restrict d, size_t n, const char *restrict format, ...) {
  static void *found;
  double v[AMOUNTS] = {0};
  long double w[AMOUNTS] = {0};
  unsigned plain = 0, longer = 0, i = 0, k = 0;
  va_list ap;
  hd__real_init();
  hd__lookup(HD_STATE_LOCALE, 0, HD_CALLER);
  format = READS_STRING(format);
  count_amounts(format, &plain, &longer);
  if (plain > AMOUNTS || longer > AMOUNTS) hd__unsupported("strfmon with more than 8 amounts", HD_CALLER);
  va_start(ap, format);
  while (i < plain) v[i++] = va_arg(ap, double);
  while (k < longer) w[k++] = va_arg(ap, long double);
  va_end(ap);
  ssize_t r = ((ssize_t(*)(char *, size_t, const char *, ...))hd__original(&found, "strfmon"))(
      d, n, format, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], w[0], w[1], w[2], w[3], w[4], w[5], w[6],
      w[7]);
  if (hot.active && r >= 0) WRITES(d, (size_t)r + 1);
  return r;
}
