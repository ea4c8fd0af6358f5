/* fill.c: results that functions of libc and system calls store for their caller. Runs in the tested process.
 *
 * A function that cannot fail is announced before the call; of others what was stored counts after it. */
#include <arpa/inet.h>
#include <dirent.h>
#include <getopt.h>
#include <grp.h>
#include <iconv.h>
#include <libgen.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <regex.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/symbolic/library.h"
#include "runtime/wrap/access.h"

/* A function whose result says whether it stored something. */
#define FILL(ret, name, params, args, before, stored, after) \
  HD_EXPORT ret name params {                                \
    hd__real_init();                                         \
    before;                                                  \
    ret r = real_##name args;                                \
    hd__allocating(0);                                       \
    if (hot.active && (stored)) {                            \
      after;                                                 \
    }                                                        \
    return r;                                                \
  }
#define NOTHING (void)0

/* ---- files ---- */

FILL(int, stat, (const char *restrict path, struct stat *restrict st), (path, st), READS_STRING(path), r == 0,
     WRITES(st, sizeof *st))
FILL(int, lstat, (const char *restrict path, struct stat *restrict st), (path, st), READS_STRING(path),
     r == 0, WRITES(st, sizeof *st))
FILL(int, stat64, (const char *restrict path, struct stat64 *restrict st), (path, st), READS_STRING(path),
     r == 0, WRITES(st, sizeof *st))
FILL(int, lstat64, (const char *restrict path, struct stat64 *restrict st), (path, st), READS_STRING(path),
     r == 0, WRITES(st, sizeof *st))
FILL(int, fstat64, (int fd, struct stat64 *st), (fd, st), NOTHING, r == 0, WRITES(st, sizeof *st))
FILL(int, fstatat64, (int dir, const char *restrict path, struct stat64 *restrict st, int flags),
     (dir, path, st, flags), READS_STRING(path), r == 0, WRITES(st, sizeof *st))
FILL(int, fstat, (int fd, struct stat *st), (fd, st), NOTHING, r == 0, WRITES(st, sizeof *st))
FILL(int, fstatat, (int dir, const char *restrict path, struct stat *restrict st, int flags),
     (dir, path, st, flags), READS_STRING(path), r == 0, WRITES(st, sizeof *st))
FILL(int, statx, (int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict st),
     (dir, path, flags, mask, st), READS_STRING(path), r == 0, WRITES(st, sizeof *st))
FILL(int, statfs, (const char *path, struct statfs *st), (path, st), READS_STRING(path), r == 0,
     WRITES(st, sizeof *st))
FILL(int, fstatfs, (int fd, struct statfs *st), (fd, st), NOTHING, r == 0, WRITES(st, sizeof *st))
FILL(int, statvfs, (const char *restrict path, struct statvfs *restrict st), (path, st), READS_STRING(path),
     r == 0, WRITES(st, sizeof *st))
FILL(char *, getcwd, (char *d, size_t n), (d, n), ALLOCATES, r != NULL, WRITES(r, real_strlen(r) + 1))
FILL(char *, realpath, (const char *restrict path, char *restrict d), (path, d), READS_STRING(path);
     ALLOCATES, r != NULL, WRITES(r, real_strlen(r) + 1))
FILL(ssize_t, readlink, (const char *restrict path, char *restrict d, size_t n), (path, d, n),
     READS_STRING(path), r > 0, WRITES(d, (size_t)r))
FILL(ssize_t, readlinkat, (int dir, const char *restrict path, char *restrict d, size_t n), (dir, path, d, n),
     READS_STRING(path), r > 0, WRITES(d, (size_t)r))
FILL(int, mkstemp, (char *path), (path), READS_STRING(path), r >= 0, WRITES(path + real_strlen(path) - 6, 6))
FILL(char *, mkdtemp, (char *path), (path), READS_STRING(path), r != NULL,
     WRITES(path + real_strlen(path) - 6, 6))

/* The stream of a folder has no lock that a program may rely on, and one buffer for its entries. */
FILL(struct dirent *, readdir, (DIR * d), (d), WRITES(d, 8), r != NULL, WRITES(r, r->d_reclen))
FILL(struct dirent64 *, readdir64, (DIR * d), (d), WRITES(d, 8), r != NULL, WRITES(r, r->d_reclen))

/* ---- descriptors ---- */

FILL(int, pipe, (int fd[2]), (fd), NOTHING, r == 0, WRITES(fd, 2 * sizeof *fd))
FILL(int, pipe2, (int fd[2], int flags), (fd, flags), NOTHING, r == 0, WRITES(fd, 2 * sizeof *fd))
FILL(int, socketpair, (int domain, int type, int protocol, int fd[2]), (domain, type, protocol, fd), NOTHING,
     r == 0, WRITES(fd, 2 * sizeof *fd))
FILL(int, getsockname, (int fd, struct sockaddr *restrict a, socklen_t *restrict n), (fd, a, n),
     READS(n, sizeof *n), r == 0, WRITES(n, sizeof *n);
     WRITES(a, *n))
FILL(int, getpeername, (int fd, struct sockaddr *restrict a, socklen_t *restrict n), (fd, a, n),
     READS(n, sizeof *n), r == 0, WRITES(n, sizeof *n);
     WRITES(a, *n))
FILL(int, getsockopt, (int fd, int level, int option, void *restrict v, socklen_t *restrict n),
     (fd, level, option, v, n), READS(n, sizeof *n), r == 0, WRITES(n, sizeof *n);
     WRITES(v, *n))
FILL(int, setsockopt, (int fd, int level, int option, const void *v, socklen_t n), (fd, level, option, v, n),
     READS(v, n), false, NOTHING)
FILL(int, accept, (int fd, struct sockaddr *restrict a, socklen_t *restrict n), (fd, a, n),
     READS(n, sizeof *n), r >= 0 && a, WRITES(n, sizeof *n);
     WRITES(a, *n))

static void polled(struct pollfd *p, nfds_t n, uint64_t pc) {
  for (nfds_t i = 0; i < n; i++) hd__writes(&p[i].revents, sizeof p[i].revents, pc);
}
static void polls(struct pollfd *p, nfds_t n, uint64_t pc) {
  for (nfds_t i = 0; i < n; i++) hd__reads(&p[i], offsetof(struct pollfd, revents), pc);
}
FILL(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms), polls(p, n, HD_CALLER), r >= 0,
     polled(p, n, HD_CALLER))
FILL(int, ppoll, (struct pollfd * p, nfds_t n, const struct timespec *t, const sigset_t *mask),
     (p, n, t, mask), polls(p, n, HD_CALLER);
     READS(t, sizeof *t); READS(mask, sizeof *mask), r >= 0, polled(p, n, HD_CALLER))

static void sets(int n, fd_set *const s[3], bool write, uint64_t pc) {
  size_t size = (size_t)(n + 63) / 64 * 8;
  for (int i = 0; i < 3; i++) {
    if (write)
      hd__writes(s[i], size, pc);
    else
      hd__reads(s[i], size, pc);
  }
}
#define SETS ((fd_set *const[]){in, out, other})
FILL(int, select,
     (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other, struct timeval *restrict t),
     (n, in, out, other, t), sets(n, SETS, false, HD_CALLER);
     READS(t, sizeof *t), r >= 0, sets(n, SETS, true, HD_CALLER); WRITES(t, sizeof *t))
FILL(int, pselect,
     (int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict other,
      const struct timespec *restrict t, const sigset_t *restrict mask),
     (n, in, out, other, t, mask), sets(n, SETS, false, HD_CALLER);
     READS(t, sizeof *t); READS(mask, sizeof *mask), r >= 0, sets(n, SETS, true, HD_CALLER))
FILL(int, epoll_ctl, (int fd, int op, int of, struct epoll_event *e), (fd, op, of, e), READS(e, sizeof *e),
     false, NOTHING)

/* ---- the process and the system ---- */

FILL(pid_t, wait, (int *status), (status), NOTHING, r > 0, WRITES(status, sizeof *status))
FILL(pid_t, waitpid, (pid_t pid, int *status, int flags), (pid, status, flags), NOTHING, r > 0,
     WRITES(status, sizeof *status))
FILL(int, uname, (struct utsname * u), (u), NOTHING, r == 0, WRITES(u, sizeof *u))
FILL(int, gethostname, (char *d, size_t n), (d, n), NOTHING, r == 0, WRITES(d, real_strnlen(d, n)))
FILL(int, sysinfo, (struct sysinfo * s), (s), NOTHING, r == 0, WRITES(s, sizeof *s))
FILL(clock_t, times, (struct tms * t), (t), NOTHING, true, WRITES(t, sizeof *t))
FILL(int, getrusage, (__rusage_who_t who, struct rusage *u), (who, u), NOTHING, r == 0, WRITES(u, sizeof *u))
FILL(int, getgroups, (int n, gid_t *g), (n, g), NOTHING, r > 0 && n, WRITES(g, (size_t)r * sizeof *g))
FILL(ssize_t, getrandom, (void *d, size_t n, unsigned flags), (d, n, flags), NOTHING, r > 0,
     WRITES(d, (size_t)r))
FILL(int, getentropy, (void *d, size_t n), (d, n), NOTHING, r == 0, WRITES(d, n))
FILL(int, clock_getres, (clockid_t clock, struct timespec *t), (clock, t), NOTHING, r == 0,
     WRITES(t, sizeof *t))
FILL(int, getitimer, (__itimer_which_t which, struct itimerval *t), (which, t), NOTHING, r == 0,
     WRITES(t, sizeof *t))
FILL(int, setitimer,
     (__itimer_which_t which, const struct itimerval *restrict t, struct itimerval *restrict old),
     (which, t, old), READS(t, sizeof *t), r == 0, WRITES(old, sizeof *old))

/* ---- attributes of threads and locks ---- */

FILL(int, pthread_attr_init, (pthread_attr_t * a), (a), WRITES(a, sizeof *a), false, NOTHING)
FILL(int, pthread_attr_destroy, (pthread_attr_t * a), (a), WRITES(a, sizeof *a), false, NOTHING)
FILL(int, pthread_attr_setdetachstate, (pthread_attr_t * a, int v), (a, v), WRITES(a, sizeof *a), false,
     NOTHING)
FILL(int, pthread_attr_setstacksize, (pthread_attr_t * a, size_t v), (a, v), WRITES(a, sizeof *a), false,
     NOTHING)
FILL(int, pthread_attr_setstack, (pthread_attr_t * a, void *s, size_t v), (a, s, v), WRITES(a, sizeof *a),
     false, NOTHING)
FILL(int, pthread_attr_setguardsize, (pthread_attr_t * a, size_t v), (a, v), WRITES(a, sizeof *a), false,
     NOTHING)
FILL(int, pthread_mutexattr_init, (pthread_mutexattr_t * a), (a), WRITES(a, sizeof *a), false, NOTHING)
FILL(int, pthread_mutexattr_settype, (pthread_mutexattr_t * a, int v), (a, v), WRITES(a, sizeof *a), false,
     NOTHING)

/* ---- sorting ---- */

/* One read and one write of the whole. Returns whether it is done: inputs in it keep their symbols then. */
static bool sorts(void *base, size_t n, size_t size, __compar_d_fn_t compare, void *arg, uint64_t pc) {
  bool keep = hot.active && hd__keep_begin();
  hd__reads(base, n > 1 ? n * size : 0, pc);
  if (keep) hd__keep_end();
  hd__writes(base, n > 1 ? n * size : 0, pc);
  return keep && hd__library_sort(base, n, size, compare, arg, pc);
}

static int without_argument(const void *a, const void *b, void *compare) {
  return (*(__compar_fn_t *)compare)(a, b);
}

HD_EXPORT void qsort(void *base, size_t n, size_t size, __compar_fn_t compare) {
  hd__real_init();
  if (!sorts(base, n, size, without_argument, &compare, HD_CALLER)) real_qsort(base, n, size, compare);
}

HD_EXPORT void qsort_r(void *base, size_t n, size_t size, __compar_d_fn_t compare, void *arg) {
  hd__real_init();
  if (!sorts(base, n, size, compare, arg, HD_CALLER)) real_qsort_r(base, n, size, compare, arg);
}

/* ---- dates ---- */

FILL(struct tm *, localtime_r, (const time_t *restrict t, struct tm *restrict d), (t, d), LOCAL_TIME_R;
     READS(t, sizeof *t); WRITES(d, sizeof *d), false, NOTHING)
FILL(struct tm *, gmtime_r, (const time_t *restrict t, struct tm *restrict d), (t, d), READS(t, sizeof *t);
     WRITES(d, sizeof *d), false, NOTHING)
FILL(char *, asctime_r, (const struct tm *restrict t, char *restrict d), (t, d), READS(t, sizeof *t),
     r != NULL, WRITES(d, real_strlen(d) + 1))
FILL(char *, ctime_r, (const time_t *restrict t, char *restrict d), (t, d), LOCAL_TIME_R;
     READS(t, sizeof *t), r != NULL, WRITES(d, real_strlen(d) + 1))
FILL(time_t, mktime, (struct tm * t), (t), LOCAL_TIME; READS(t, sizeof *t), r != -1, WRITES(t, sizeof *t))
FILL(time_t, timegm, (struct tm * t), (t), READS(t, sizeof *t), r != -1, WRITES(t, sizeof *t))
FILL(size_t, strftime, (char *restrict d, size_t n, const char *restrict f, const struct tm *restrict t),
     (d, n, f, t), LOCAL_TIME;
     READS_STRING(f); READS(t, sizeof *t); LOCALE, r > 0, WRITES(d, r + 1))
FILL(char *, strptime, (const char *restrict s, const char *restrict f, struct tm *restrict t), (s, f, t),
     READS_STRING(s);
     READS_STRING(f); LOCALE, r != NULL, WRITES(t, sizeof *t))

/* ---- names and addresses ---- */

FILL(int, getaddrinfo,
     (const char *restrict node, const char *restrict service, const struct addrinfo *restrict hints,
      struct addrinfo **restrict out),
     (node, service, hints, out), READS_STRING(node);
     READS_STRING(service); READS(hints, sizeof *hints); ALLOCATES, r == 0, WRITES(out, sizeof *out))
FILL(const char *, inet_ntop, (int family, const void *restrict a, char *restrict d, socklen_t n),
     (family, a, d, n), READS(a, family == AF_INET ? 4 : 16), r != NULL, WRITES(d, real_strlen(d) + 1))
FILL(int, inet_pton, (int family, const char *restrict s, void *restrict d), (family, s, d), READS_STRING(s),
     r == 1, WRITES(d, family == AF_INET ? 4 : 16))
FILL(int, inet_aton, (const char *s, struct in_addr *d), (s, d), READS_STRING(s), r != 0,
     WRITES(d, sizeof *d))
FILL(int, getpwnam_r,
     (const char *restrict n, struct passwd *restrict p, char *restrict b, size_t k,
      struct passwd **restrict out),
     (n, p, b, k, out), READS_STRING(n), true, WRITES(out, sizeof *out);
     if (*out)
         hd__entry_filled(p, sizeof *p, b, k, (char *[]){p->pw_name, p->pw_gecos, p->pw_shell}, 3, HD_CALLER))
FILL(int, getpwuid_r,
     (uid_t u, struct passwd *restrict p, char *restrict b, size_t k, struct passwd **restrict out),
     (u, p, b, k, out), NOTHING, true, WRITES(out, sizeof *out);
     if (*out)
         hd__entry_filled(p, sizeof *p, b, k, (char *[]){p->pw_name, p->pw_gecos, p->pw_shell}, 3, HD_CALLER))

/* ---- patterns and encodings ---- */

FILL(int, regcomp, (regex_t *restrict re, const char *restrict s, int flags), (re, s, flags), READS_STRING(s);
     WRITES(re, sizeof *re), false, NOTHING)
FILL(int, regexec,
     (const regex_t *restrict re, const char *restrict s, size_t n,
      regmatch_t m[_Restrict_arr_ _REGEX_NELTS(n)], int flags),
     (re, s, n, m, flags), READS(re, sizeof *re);
     READS_STRING(s), r == 0 && n && !(flags & REG_STARTEND), WRITES(m, n * sizeof *m))

HD_EXPORT size_t iconv(iconv_t c, char **restrict in, size_t *restrict nin, char **restrict out,
                       size_t *restrict nout) {
  hd__real_init();
  char *from = in ? *in : NULL, *to = out ? *out : NULL;
  if (c && c != (iconv_t)-1) WRITES(c, 8); /* its state */
  size_t r = real_iconv(c, in, nin, out, nout);
  if (!hot.active) return r;
  if (in) {
    WRITES(in, sizeof *in);
    WRITES(nin, sizeof *nin);
    READS(from, (size_t)(*in - from));
  }
  if (out) {
    WRITES(out, sizeof *out);
    WRITES(nout, sizeof *nout);
    WRITES(to, (size_t)(*out - to));
  }
  return r;
}

/* ---- numbers ---- */

extern double frexp(double, int *), modf(double, double *);
FILL(double, frexp, (double x, int *e), (x, e), WRITES(e, sizeof *e), false, NOTHING)
FILL(double, modf, (double x, double *i), (x, i), WRITES(i, sizeof *i), false, NOTHING)
FILL(int, rand_r, (unsigned *seed), (seed), READS(seed, sizeof *seed);
     WRITES(seed, sizeof *seed), false, NOTHING)
FILL(double, erand48, (unsigned short x[3]), (x), WRITES(x, 3 * sizeof *x), false, NOTHING)
FILL(long, nrand48, (unsigned short x[3]), (x), WRITES(x, 3 * sizeof *x), false, NOTHING)
FILL(long, jrand48, (unsigned short x[3]), (x), WRITES(x, 3 * sizeof *x), false, NOTHING)
FILL(int, random_r, (struct random_data *restrict s, int32_t *restrict v), (s, v), WRITES(s, sizeof *s);
     WRITES(v, sizeof *v), false, NOTHING)
FILL(int, drand48_r, (struct drand48_data *restrict s, double *restrict v), (s, v), WRITES(s, sizeof *s);
     WRITES(v, sizeof *v), false, NOTHING)
FILL(int, lrand48_r, (struct drand48_data *restrict s, long *restrict v), (s, v), WRITES(s, sizeof *s);
     WRITES(v, sizeof *v), false, NOTHING)
FILL(int, srand48_r, (long seed, struct drand48_data *s), (seed, s), WRITES(s, sizeof *s), false, NOTHING)
