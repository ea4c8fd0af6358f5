/* hidden.c: variables of libc's own that its functions share between threads. Runs in the tested process.
 *
 * rand and random lock theirs: each call is an operation of the schedule. The others are not safe for threads (MT-Unsafe
 * in the manual): calls that nothing orders are a data race on the variable, or on the result that it is returned in. */
#include <grp.h>
#include <locale.h>
#include <langinfo.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/core/state.h"
#include "runtime/wrap/access.h"

/* ---- random numbers ---- */

#define RANDOM() hd__change(HD_STATE_RANDOM, 0, HD_CALLER)

HD_EXPORT int rand(void) {
  hd__real_init();
  RANDOM();
  return real_rand();
}

HD_EXPORT void srand(unsigned seed) {
  hd__real_init();
  RANDOM();
  real_srand(seed);
}

HD_EXPORT long random(void) {
  hd__real_init();
  RANDOM();
  return real_random();
}

HD_EXPORT void srandom(unsigned seed) {
  hd__real_init();
  RANDOM();
  real_srandom(seed);
}

HD_EXPORT char *initstate(unsigned seed, char *state, size_t n) {
  hd__real_init();
  RANDOM();
  return real_initstate(seed, state, n);
}

HD_EXPORT char *setstate(char *state) {
  hd__real_init();
  RANDOM();
  return real_setstate(state);
}

/* Stand for variables of libc that have no names. */
static struct { uint64_t drand48, getopt; } unsafe;
#define UNSAFE(member) WRITES(&unsafe.member, sizeof unsafe.member)

#define RAND48(ret, name, params, args) \
  HD_EXPORT ret name params {           \
    hd__real_init();                    \
    UNSAFE(drand48);                    \
    return real_##name args;            \
  }
RAND48(double, drand48, (void), ())
RAND48(long, lrand48, (void), ())
RAND48(long, mrand48, (void), ())
RAND48(void, srand48, (long seed), (seed))
RAND48(unsigned short *, seed48, (unsigned short seed[3]), (seed))
RAND48(void, lcong48, (unsigned short seed[7]), (seed))

/* ---- the time zone: variables that the program may read; a lock of libc's orders those who write them ---- */

static void look_at_zone(bool again) {
  time_t t = 0;
  struct tm d;
  if (again)
    real_tzset();
  else
    real_localtime_r(&t, &d);
}

#define ZONE_VARIABLE(v)                                                    \
  if (v != v##_before) {                                                    \
    __typeof__(v) new = v;                                                  \
    v = v##_before;                                                         \
    hd__access_range((uint64_t)&v, sizeof v, HD_A_WRITE | HD_A_ATOMIC, pc); \
    v = new;                                                                \
  }

/* Each access may be a scheduling point, before which nothing has changed. */
void hd__zone_used(bool again, uint64_t pc) {
  if (!hot.active) return;
  long timezone_before = timezone;
  int daylight_before = daylight;
  char **name = tzname, *name_before[2] = {name[0], name[1]};
  look_at_zone(again);
  ZONE_VARIABLE(timezone)
  ZONE_VARIABLE(daylight)
  for (int i = 0; i < 2; i++)
    if (name[i] != name_before[i])
      hd__access_range((uint64_t)&name[i], sizeof *name, HD_A_WRITE | HD_A_ATOMIC, pc);
}

/* ---- dates: one structure for all, and one text ---- */

#define DATE(name, zone)                            \
  HD_EXPORT struct tm *name(const time_t *t) {      \
    hd__real_init();                                \
    zone;                                           \
    READS(t, sizeof *t);                            \
    struct tm *r = real_##name(t);                  \
    if (hot.active && r) {                          \
      WRITES(r, sizeof *r);                         \
      r = real_##name(t); /* others may have run */ \
    }                                               \
    return r;                                       \
  }
DATE(localtime, LOCAL_TIME)
DATE(gmtime, (void)0)

HD_EXPORT void tzset(void) {
  hd__real_init();
  hd__lookup(HD_STATE_ENVIRON, 0, HD_CALLER);
  hd__change(HD_STATE_ZONE, 0, HD_CALLER);
  if (hot.active)
    hd__zone_used(true, HD_CALLER);
  else
    real_tzset();
}

HD_EXPORT char *asctime(const struct tm *t) {
  hd__real_init();
  READS(t, sizeof *t);
  char *r = real_asctime(t);
  if (hot.active && r) {
    WRITES(r, real_strlen(r) + 1);
    r = real_asctime(t);
  }
  return r;
}

HD_EXPORT char *ctime(const time_t *t) {
  hd__real_init();
  LOCAL_TIME;
  READS(t, sizeof *t);
  char *r = real_ctime(t);
  if (hot.active && r) {
    struct tm *tm = real_localtime(t);
    WRITES(tm, sizeof *tm);
    WRITES(r, real_strlen(r) + 1);
    r = real_ctime(t);
  }
  return r;
}

/* ---- entries of databases, in one structure each ---- */

#define ENTRY(type, name, params, args)        \
  HD_EXPORT struct type *name params {         \
    hd__real_init();                           \
    struct type *r = real_##name args;         \
    if (hot.active && r) WRITES(r, sizeof *r); \
    return r;                                  \
  }
ENTRY(passwd, getpwnam, (const char *name), (name))
ENTRY(passwd, getpwuid, (uid_t id), (id))
ENTRY(passwd, getpwent, (void), ())
ENTRY(group, getgrnam, (const char *name), (name))
ENTRY(group, getgrgid, (gid_t id), (id))
ENTRY(group, getgrent, (void), ())
ENTRY(hostent, gethostbyname, (const char *name), (name))
ENTRY(hostent, gethostbyname2, (const char *name, int family), (name, family))
ENTRY(hostent, gethostbyaddr, (const void *a, socklen_t n, int type), (a, n, type))
ENTRY(servent, getservbyname, (const char *name, const char *protocol), (name, protocol))
ENTRY(servent, getservbyport, (int port, const char *protocol), (port, protocol))
ENTRY(protoent, getprotobyname, (const char *name), (name))
ENTRY(protoent, getprotobynumber, (int number), (number))

/* ---- texts in a variable of libc's ---- */

#define TEXT(name, params, args)                        \
  HD_EXPORT char *name params;                          \
  char *name params {                                   \
    hd__real_init();                                    \
    char *r = real_##name args;                         \
    if (hot.active && r) WRITES(r, real_strlen(r) + 1); \
    return r;                                           \
  }
TEXT(ttyname, (int fd), (fd))
TEXT(getlogin, (void), ())
TEXT(ptsname, (int fd), (fd))
TEXT(l64a, (long n), (n))
TEXT(ecvt, (double x, int n, int *restrict point, int *restrict sign), (x, n, point, sign))
TEXT(fcvt, (double x, int n, int *restrict point, int *restrict sign), (x, n, point, sign))
TEXT(gcvt, (double x, int n, char *d), (x, n, d))

/* ---- options ---- */

#define OPTION(name, params, args)  \
  HD_EXPORT int name params;        \
  int name params {                 \
    hd__real_init();                \
    UNSAFE(getopt);                 \
    WRITES(&optind, sizeof optind); \
    WRITES(&optarg, sizeof optarg); \
    READS(&opterr, sizeof opterr);  \
    return real_##name args;        \
  }
struct option;
OPTION(getopt, (int argc, char *const argv[], const char *options), (argc, argv, options))
OPTION(getopt_long, (int argc, char *const argv[], const char *options, const struct option *all, int *which),
       (argc, argv, options, all, which))

/* ---- the locale ---- */

char *HD_IN(setlocale)(int category, const char *locale);
char *HD_IN(setlocale)(int category, const char *locale) {
  hd__real_init();
  locale = READS_STRING(locale);
  if (locale)
    hd__change(HD_STATE_LOCALE, 0, HD_CALLER);
  else
    hd__lookup_noted(HD_STATE_LOCALE, 0, HD_CALLER);
  return real_setlocale(category, locale);
}

HD_EXPORT struct lconv *localeconv(void) {
  hd__real_init();
  hd__lookup(HD_STATE_LOCALE, 0, HD_CALLER);
  struct lconv *r = real_localeconv();
  if (hot.active) WRITES(r, sizeof *r);
  return real_localeconv();
}

HD_EXPORT char *nl_langinfo(nl_item item) {
  hd__real_init();
  hd__lookup(HD_STATE_LOCALE, 0, HD_CALLER);
  return real_nl_langinfo(item);
}

/* ---- the environment ---- */

/* A lock of libc's orders those who change it. A program that walks `environ` itself races with them. */
static void environ_changes(enum hd_state state, uint32_t which, uint64_t pc) {
  static HD_EXEC struct hd_vc vc;
  static HD_EXEC uint32_t epoch;
  if (!hot.active || !rt.nunjoined) return;
  if (epoch != rt.epoch) vc = (struct hd_vc){0};
  epoch = rt.epoch;
  hd__acquire(&vc);
  hd__writes(&environ, sizeof environ, pc); /* may be a scheduling point; behind the change there is none */
  hd__release(&vc);
  hd__change(state, which, pc);
}

#define ENVIRONMENT(name, in, params, args, reads, how) \
  in params;                                            \
  in params {                                           \
    hd__real_init();                                    \
    reads;                                              \
    how(HD_STATE_ENVIRON, 0, HD_CALLER);                \
    return real_##name args;                            \
  }
#define NAME name = READS_STRING(name)
ENVIRONMENT(getenv, char *HD_IN(getenv), (const char *name), (name), NAME, hd__lookup_noted)
ENVIRONMENT(secure_getenv, char *HD_IN(secure_getenv), (const char *name), (name), NAME, hd__lookup_noted)
ENVIRONMENT(setenv, HD_EXPORT int setenv, (const char *name, const char *value, int replace),
            (name, value, replace), NAME;
            value = READS_STRING(value), environ_changes)
ENVIRONMENT(unsetenv, HD_EXPORT int unsetenv, (const char *name), (name), NAME, environ_changes)
ENVIRONMENT(putenv, HD_EXPORT int putenv, (char *text), (text), READS_STRING(text), environ_changes)
ENVIRONMENT(clearenv, HD_EXPORT int clearenv, (void), (), (void)0, environ_changes)
