/* results.c: more results that functions of libc store for their caller: those that few programs use. Runs in the tested
 * process.
 *
 * As in fill.c, but the originals are looked up when they are called first. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <ifaddrs.h>
#include <mntent.h>
#include <mqueue.h>
#include <netdb.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/core/modules.h"
#include "runtime/core/state.h"
#include "runtime/wrap/results.h"
#include "runtime/wrap/signal.h"

#define STRING WRITES(r, real_strlen(r) + 1)
#define LOOKS(state) hd__lookup(HD_STATE_##state, 0, HD_CALLER)

/* ---- the process ---- */

RESULT(int, getrlimit, (__rlimit_resource_t which, struct rlimit *l), (which, l), NOTHING, r == 0,
       WRITES(l, sizeof *l))
RESULT(int, getrlimit64, (__rlimit_resource_t which, struct rlimit64 *l), (which, l), NOTHING, r == 0,
       WRITES(l, sizeof *l))
RESULT(int, setrlimit, (__rlimit_resource_t which, const struct rlimit *l), (which, l), READS(l, sizeof *l),
       false, NOTHING)
RESULT(int, prlimit,
       (__pid_t pid, enum __rlimit_resource which, const struct rlimit *new, struct rlimit *old),
       (pid, which, new, old), READS(new, sizeof *new), r == 0, WRITES(old, sizeof *old))
RESULT(int, sched_getparam, (__pid_t pid, struct sched_param *p), (pid, p), NOTHING, r == 0,
       WRITES(p, sizeof *p))
RESULT(int, getresuid, (uid_t * u, uid_t *e, uid_t *s), (u, e, s), NOTHING, r == 0, WRITES(u, sizeof *u);
       WRITES(e, sizeof *e); WRITES(s, sizeof *s))
RESULT(int, getresgid, (gid_t * u, gid_t *e, gid_t *s), (u, e, s), NOTHING, r == 0, WRITES(u, sizeof *u);
       WRITES(e, sizeof *e); WRITES(s, sizeof *s))
RESULT(pid_t, wait3, (int *status, int flags, struct rusage *u), (status, flags, u), NOTHING, r > 0,
       WRITES(status, sizeof *status);
       WRITES(u, sizeof *u))
RESULT(pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *u), (pid, status, flags, u), NOTHING,
       r > 0, WRITES(status, sizeof *status);
       WRITES(u, sizeof *u))
RESULT(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int flags), (type, id, info, flags), NOTHING,
       r == 0, WRITES(info, sizeof *info))
RESULT(int, getloadavg, (double *d, int n), (d, n), NOTHING, r > 0, WRITES(d, (size_t)r * sizeof *d))
RESULT(size_t, confstr, (int which, char *d, size_t n), (which, d, n), NOTHING, r &&n,
       WRITES(d, r < n ? r : n))
RESULT(int, getdomainname, (char *d, size_t n), (d, n), NOTHING, r == 0, WRITES(d, real_strnlen(d, n)))

/* ---- files and descriptors ---- */

RESULT(int, fstatvfs, (int fd, struct statvfs *st), (fd, st), NOTHING, r == 0, WRITES(st, sizeof *st))
RESULT(int, statvfs64, (const char *restrict path, struct statvfs64 *restrict st), (path, st),
       READS_STRING(path), r == 0, WRITES(st, sizeof *st))
RESULT(int, fstatvfs64, (int fd, struct statvfs64 *st), (fd, st), NOTHING, r == 0, WRITES(st, sizeof *st))
RESULT(int, statfs64, (const char *path, struct statfs64 *st), (path, st), READS_STRING(path), r == 0,
       WRITES(st, sizeof *st))
RESULT(int, mkostemp, (char *path, int flags), (path, flags), READS_STRING(path), r >= 0,
       WRITES(path + real_strlen(path) - 6, 6))
RESULT(int, mkstemps, (char *path, int n), (path, n), READS_STRING(path), r >= 0,
       WRITES(path + real_strlen(path) - 6 - n, 6))
RESULT(int, mkostemps, (char *path, int n, int flags), (path, n, flags), READS_STRING(path), r >= 0,
       WRITES(path + real_strlen(path) - 6 - n, 6))
RESULT(char *, get_current_dir_name, (void), (), ALLOCATES, r != NULL, STRING)
RESULT(char *, canonicalize_file_name, (const char *path), (path), READS_STRING(path);
       ALLOCATES, r != NULL, STRING)
RESULT(char *, tempnam, (const char *folder, const char *prefix), (folder, prefix), READS_STRING(folder);
       READS_STRING(prefix); ALLOCATES, r != NULL, STRING)
RESULT(DIR *, opendir, (const char *path), (path), READS_STRING(path); ALLOCATES, false, NOTHING)
RESULT(DIR *, fdopendir, (int fd), (fd), ALLOCATES, false, NOTHING)
RESULT(int, scandir,
       (const char *restrict path, struct dirent ***restrict names, int (*wanted)(const struct dirent *),
        int (*order)(const struct dirent **, const struct dirent **)),
       (path, names, wanted, order), READS_STRING(path);
       ALLOCATES, r >= 0, WRITES(names, sizeof *names))
RESULT(int, glob,
       (const char *restrict pattern, int flags, int (*failed)(const char *, int), glob_t *restrict g),
       (pattern, flags, failed, g), READS_STRING(pattern);
       WRITES(g, sizeof *g); ALLOCATES, false, NOTHING)
RESULT(int, futimens, (int fd, const struct timespec t[2]), (fd, t), READS(t, 2 * sizeof *t), false, NOTHING)
RESULT(int, accept4, (int fd, struct sockaddr *restrict a, socklen_t *restrict n, int flags),
       (fd, a, n, flags), READS(n, sizeof *n), r >= 0 && a, WRITES(n, sizeof *n);
       WRITES(a, *n))
RESULT(int, epoll_pwait, (int fd, struct epoll_event *e, int n, int ms, const sigset_t *mask),
       (fd, e, n, ms, mask), NOTHING, r > 0, WRITES(e, (size_t)r * sizeof *e))
RESULT(int, eventfd_read, (int fd, eventfd_t *v), (fd, v), NOTHING, r == 0, WRITES(v, sizeof *v))
RESULT(ssize_t, msgrcv, (int id, void *d, size_t n, long type, int flags), (id, d, n, type, flags), NOTHING,
       r >= 0, WRITES(d, sizeof(long) + (size_t)r))
RESULT(int, msgsnd, (int id, const void *d, size_t n, int flags), (id, d, n, flags),
       READS(d, sizeof(long) + n), false, NOTHING)
RESULT(ssize_t, mq_receive, (mqd_t q, char *d, size_t n, unsigned *p), (q, d, n, p), NOTHING, r >= 0,
       WRITES(d, (size_t)r);
       WRITES(p, sizeof *p))
RESULT(ssize_t, mq_timedreceive,
       (mqd_t q, char *restrict d, size_t n, unsigned *restrict p, const struct timespec *restrict t),
       (q, d, n, p, t), NOTHING, r >= 0, WRITES(d, (size_t)r);
       WRITES(p, sizeof *p))
RESULT(int, mq_send, (mqd_t q, const char *d, size_t n, unsigned p), (q, d, n, p), READS(d, n), false,
       NOTHING)
RESULT(int, mq_getattr, (mqd_t q, struct mq_attr *a), (q, a), NOTHING, r == 0, WRITES(a, sizeof *a))
RESULT(int, timerfd_gettime, (int fd, struct itimerspec *t), (fd, t), NOTHING, r == 0, WRITES(t, sizeof *t))
RESULT(int, timerfd_settime, (int fd, int flags, const struct itimerspec *t, struct itimerspec *old),
       (fd, flags, t, old), READS(t, sizeof *t), r == 0, WRITES(old, sizeof *old))

/* What an ioctl stores says its number, and of the older ones a list. */
HD_EXPORT int ioctl(int fd, unsigned long request, ...);
int ioctl(int fd, unsigned long request, ...) {
  static void *found;
  __builtin_va_list ap;
  __builtin_va_start(ap, request);
  void *arg = __builtin_va_arg(ap, void *);
  __builtin_va_end(ap);
  int r = ((int (*)(int, unsigned long, ...))hd__original(&found, "ioctl"))(fd, request, arg);
  if (!hot.active || r < 0) return r;
  if (request == FIONREAD || request == TIOCOUTQ)
    WRITES(arg, sizeof(int));
  else if (request == TIOCGWINSZ)
    WRITES(arg, sizeof(struct winsize));
  else if (request >> 16 && _IOC_DIR(request) & _IOC_READ)
    WRITES(arg, _IOC_SIZE(request));
  return r;
}

/* ---- timers ---- */

HD_EXPORT int timer_create(clockid_t clock, struct sigevent *restrict e, timer_t *restrict t) {
  struct sigevent signal;
  if (!hot.active) return real_timer_create(clock, e, t);
  READS(e, sizeof *e);
  if (e && e->sigev_notify == SIGEV_THREAD) {
    if (!hd__thread_timer(e, &signal, HD_CALLER)) return -1;
    e = &signal;
  }
  int r = real_timer_create(clock, e, t);
  if (r == 0) WRITES(t, sizeof *t);
  return r;
}
RESULT(int, timer_gettime, (timer_t t, struct itimerspec *v), (t, v), NOTHING, r == 0, WRITES(v, sizeof *v))
RESULT(int, timer_settime,
       (timer_t t, int flags, const struct itimerspec *restrict v, struct itimerspec *restrict old),
       (t, flags, v, old), READS(v, sizeof *v), r == 0, WRITES(old, sizeof *old))
RESULT(int, timespec_get, (struct timespec * t, int base), (t, base), NOTHING, r != 0, WRITES(t, sizeof *t))
RESULT(int, pthread_getcpuclockid, (pthread_t t, clockid_t *c), (t, c), NOTHING, r == 0, WRITES(c, sizeof *c))

/* ---- attributes ---- */

#define ATTRIBUTE(type, name, params, args) \
  RESULT(int, name, params, args, WRITES(a, sizeof(type)), false, NOTHING)
#define ATTRIBUTE_GET(type, name, out)                                                              \
  RESULT(int, name, (const type *restrict a, out *restrict v), (a, v), READS(a, sizeof *a), r == 0, \
         WRITES(v, sizeof *v))
ATTRIBUTE_GET(pthread_mutexattr_t, pthread_mutexattr_gettype, int)
ATTRIBUTE(pthread_mutexattr_t, pthread_mutexattr_destroy, (pthread_mutexattr_t * a), (a))
ATTRIBUTE(pthread_mutexattr_t, pthread_mutexattr_setpshared, (pthread_mutexattr_t * a, int v), (a, v))
ATTRIBUTE(pthread_mutexattr_t, pthread_mutexattr_setrobust, (pthread_mutexattr_t * a, int v), (a, v))
ATTRIBUTE(pthread_mutexattr_t, pthread_mutexattr_setprotocol, (pthread_mutexattr_t * a, int v), (a, v))
ATTRIBUTE(pthread_condattr_t, pthread_condattr_init, (pthread_condattr_t * a), (a))
ATTRIBUTE(pthread_condattr_t, pthread_condattr_setclock, (pthread_condattr_t * a, clockid_t v), (a, v))
ATTRIBUTE(pthread_rwlockattr_t, pthread_rwlockattr_init, (pthread_rwlockattr_t * a), (a))
ATTRIBUTE(pthread_rwlockattr_t, pthread_rwlockattr_setkind_np, (pthread_rwlockattr_t * a, int v), (a, v))
ATTRIBUTE(pthread_barrierattr_t, pthread_barrierattr_init, (pthread_barrierattr_t * a), (a))

/* ---- names ---- */

void hd__entry_filled(const void *entry, size_t n, const char *b, size_t k, char *const text[],
                      unsigned ntexts, uint64_t pc) {
  size_t end = 0;
  for (unsigned i = 0; i < ntexts; i++) {
    if (text[i] < b || text[i] >= b + k) continue;
    size_t to = (size_t)(text[i] - b) + real_strlen(text[i]) + 1;
    if (to > end && to <= k) end = to;
  }
  hd__access_range((uint64_t)entry, n, HD_A_WRITE, pc);
  if (end) hd__access_range((uint64_t)b, end, HD_A_WRITE, pc);
}

RESULT(int, getgrnam_r,
       (const char *restrict n, struct group *restrict g, char *restrict b, size_t k,
        struct group **restrict out),
       (n, g, b, k, out), READS_STRING(n), true, WRITES(out, sizeof *out);
       if (*out) hd__entry_filled(g, sizeof *g, b, k, (char *[]){g->gr_name, g->gr_passwd}, 2, HD_CALLER))
RESULT(int, getgrgid_r,
       (gid_t n, struct group *restrict g, char *restrict b, size_t k, struct group **restrict out),
       (n, g, b, k, out), NOTHING, true, WRITES(out, sizeof *out);
       if (*out) hd__entry_filled(g, sizeof *g, b, k, (char *[]){g->gr_name, g->gr_passwd}, 2, HD_CALLER))
RESULT(int, gethostbyname_r,
       (const char *restrict n, struct hostent *restrict h, char *restrict b, size_t k,
        struct hostent **restrict out, int *restrict e),
       (n, h, b, k, out, e), READS_STRING(n), true, WRITES(out, sizeof *out);
       if (*out)
           hd__entry_filled(h, sizeof *h, b, k, (char *[]){h->h_name, (char *)h->h_addr_list}, 2, HD_CALLER);
       else WRITES(e, sizeof *e))
RESULT(int, gethostbyname2_r,
       (const char *restrict n, int family, struct hostent *restrict h, char *restrict b, size_t k,
        struct hostent **restrict out, int *restrict e),
       (n, family, h, b, k, out, e), READS_STRING(n), true, WRITES(out, sizeof *out);
       if (*out)
           hd__entry_filled(h, sizeof *h, b, k, (char *[]){h->h_name, (char *)h->h_addr_list}, 2, HD_CALLER);
       else WRITES(e, sizeof *e))

HD_EXPORT struct mntent *getmntent_r(FILE *restrict f, struct mntent *restrict m, char *restrict b, int k);
struct mntent *getmntent_r(FILE *restrict f, struct mntent *restrict m, char *restrict b, int k) {
  static void *found;
  hd__real_init();
  hd__stream_begin(f, false, HD_CALLER);
  struct mntent *r = ((__typeof__(&getmntent_r))hd__original(&found, "getmntent_r"))(f, m, b, k);
  hd__stream_end(f, HD_CALLER);
  if (hot.active && r)
    hd__entry_filled(m, sizeof *m, b, (size_t)k, (char *[]){m->mnt_fsname, m->mnt_dir, m->mnt_opts}, 3,
                     HD_CALLER);
  return r;
}
RESULT(int, getnameinfo,
       (const struct sockaddr *restrict a, socklen_t n, char *restrict host, socklen_t nh,
        char *restrict service, socklen_t ns, int flags),
       (a, n, host, nh, service, ns, flags), READS(a, n), r == 0,
       if (host && nh) WRITES(host, real_strlen(host) + 1);
       if (service && ns) WRITES(service, real_strlen(service) + 1))

/* ---- the system's clock ---- */

#define ADJUST(name, params, args) \
  RESULT(int, name, params, args, READS(t, sizeof *t), true, WRITES(t, sizeof *t))
ADJUST(adjtimex, (struct timex * t), (t))
ADJUST(ntp_adjtime, (struct timex * t), (t))
ADJUST(clock_adjtime, (clockid_t clock, struct timex *t), (clock, t))

RESULT(int, getifaddrs, (struct ifaddrs * *out), (out), ALLOCATES, r == 0, WRITES(out, sizeof *out))

/* ---- characters of several bytes: which ones there are is a matter of the locale ---- */

/* Where a character has been read in part: a variable of libc's, unless the caller has one. */
static uint64_t partly;

RESULT(size_t, __ctype_get_mb_cur_max, (void), (), LOCALE, false, NOTHING)
RESULT(int, mbtowc, (wchar_t *restrict w, const char *restrict s, size_t n), (w, s, n), LOCALE;
       WRITES(&partly, sizeof partly), r >= 0 && s, READS(s, r ? (size_t)r : 1); WRITES(w, sizeof *w))
RESULT(int, mblen, (const char *s, size_t n), (s, n), LOCALE;
       WRITES(&partly, sizeof partly), r >= 0 && s, READS(s, r ? (size_t)r : 1))
RESULT(int, wctomb, (char *s, wchar_t w), (s, w), LOCALE;
       WRITES(&partly, sizeof partly), r > 0 && s, WRITES(s, (size_t)r))
RESULT(size_t, mbrtowc, (wchar_t *restrict w, const char *restrict s, size_t n, mbstate_t *restrict p),
       (w, s, n, p), LOCALE;
       if (!p) WRITES(&partly, sizeof partly), (ssize_t)r >= 0 && s, READS(s, r ? r : 1);
       WRITES(w, sizeof *w); WRITES(p, sizeof *p))
RESULT(size_t, wcrtomb, (char *restrict s, wchar_t w, mbstate_t *restrict p), (s, w, p), LOCALE;
       if (!p) WRITES(&partly, sizeof partly), (ssize_t)r > 0 && s, WRITES(s, r); WRITES(p, sizeof *p))

/* ---- numbers ---- */

extern float frexpf(float, int *), modff(float, float *);
extern long double frexpl(long double, int *), modfl(long double, long double *);
RESULT(float, frexpf, (float x, int *e), (x, e), WRITES(e, sizeof *e), false, NOTHING)
RESULT(long double, frexpl, (long double x, int *e), (x, e), WRITES(e, sizeof *e), false, NOTHING)
RESULT(float, modff, (float x, float *i), (x, i), WRITES(i, sizeof *i), false, NOTHING)
RESULT(long double, modfl, (long double x, long double *i), (x, i), WRITES(i, sizeof *i), false, NOTHING)

/* Functions of libm have the symbol versions of the originals: the dynamic linker binds to ours, and a program that forgets
 * -lm does not link. */
#define MATH(ret, name, version, params, args, before)       \
  HD_EXPORT ret hd_rt_##name params;                         \
  HD_STANDS_FOR(hd_rt_##name, #name "@" version);            \
  ret hd_rt_##name params {                                  \
    static void *found;                                      \
    before;                                                  \
    return ((ret(*) params)hd__original(&found, #name))args; \
  }
#define MATHS(type, f)                                                                                 \
  MATH(type, remquo##f, "GLIBC_2.2.5", (type x, type y, int *q), (x, y, q), WRITES(q, sizeof *q))      \
  MATH(type, lgamma##f##_r, "GLIBC_2.2.5", (type x, int *sign), (x, sign), WRITES(sign, sizeof *sign)) \
  MATH(void, sincos##f, "GLIBC_2.2.5", (type x, type * s, type * c), (x, s, c), WRITES(s, sizeof *s);  \
       WRITES(c, sizeof *c))                                                                           \
  MATH(type, lgamma##f, "GLIBC_2.23", (type x), (x), sign_changes(HD_CALLER))                          \
  MATH(type, gamma##f, "GLIBC_2.2.5", (type x), (x), sign_changes(HD_CALLER))                          \
  MATH(type, nan##f, "GLIBC_2.2.5", (const char *s), (s), s = READS_STRING(s))

/* The sign of the result is in a variable of libm, which counts where the program uses it. */
static bool is_signgam(const char *name, void *found) { /* it has two names */
  return *(bool *)found = hd__streq(name, "signgam") || hd__streq(name, "__signgam");
}

static void sign_changes(uint64_t pc) {
  static void *signgam;
  static bool looked;
  if (!hot.active) return;
  if (!looked) {
    bool used = false;
    hd__each_needed_name(is_signgam, &used);
    if (used) signgam = dlsym(RTLD_DEFAULT, "signgam");
    looked = true;
  }
  hd__writes(signgam, sizeof(int), pc);
}

MATHS(double, )
MATHS(float, f)
MATHS(long double, l)
RESULT(int, srandom_r, (unsigned seed, struct random_data *s), (seed, s), WRITES(s, sizeof *s), false,
       NOTHING)
RESULT(int, mrand48_r, (struct drand48_data *restrict s, long *restrict v), (s, v), WRITES(s, sizeof *s);
       WRITES(v, sizeof *v), false, NOTHING)
HD_EXPORT void swab(const void *restrict from, void *restrict to, ssize_t n);
void swab(const void *restrict from, void *restrict to, ssize_t n) {
  static void *found;
  if (n > 1) READS(from, (size_t)n & ~1ul);
  if (n > 1) WRITES(to, (size_t)n & ~1ul);
  ((void (*)(const void *, void *, ssize_t))hd__original(&found, "swab"))(from, to, n);
}
