/* arguments.c: memory that rare functions of libc, or the kernel for them, read and write for their caller. Runs in the
 * tested process. As results.c, by the kind of argument. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <fcntl.h>
#include <grp.h>
#include <iconv.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include "runtime/core/core.h"
#include "runtime/kernel/fds.h"
#include "runtime/wrap/results.h"

/* ---- sets of signals ---- */

CALL(int, sigemptyset, (sigset_t * s), (s), WRITES(s, sizeof *s))
CALL(int, sigfillset, (sigset_t * s), (s), WRITES(s, sizeof *s))
CALL(int, sigaddset, (sigset_t * s, int sig), (s, sig), WRITES(s, sizeof *s))
CALL(int, sigdelset, (sigset_t * s, int sig), (s, sig), WRITES(s, sizeof *s))
CALL(int, sigismember, (const sigset_t *s, int sig), (s, sig), READS(s, sizeof *s))
RESULT(int, sigaltstack, (const stack_t *restrict s, stack_t *restrict old), (s, old), READS(s, sizeof *s),
       r == 0, WRITES(old, sizeof *old))

/* ---- vectors ---- */

static size_t bytes_of(const struct iovec *v, int n) { return n > 0 ? (size_t)n * sizeof *v : 0; }

static void parts(const struct iovec *v, int nv, size_t n, bool write, uint64_t pc) {
  for (int i = 0; i < nv && n; i++) {
    size_t k = v[i].iov_len < n ? v[i].iov_len : n;
    if (write)
      hd__writes(v[i].iov_base, k, pc);
    else
      hd__reads(v[i].iov_base, k, pc);
    n -= k;
  }
}

static void gathers(const struct iovec *v, int n, uint64_t pc) {
  if (!hot.active) return;
  hd__reads(v, bytes_of(v, n), pc);
  parts(v, n, SIZE_MAX, false, pc);
}
#define GATHERS gathers(v, n, HD_CALLER)
#define SCATTERS(name, params, args)                                   \
  RESULT(ssize_t, name, params, args, READS(v, bytes_of(v, n)), r > 0, \
         parts(v, n, (size_t)r, true, HD_CALLER))
CALL(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at), GATHERS)
CALL(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at), GATHERS)
CALL(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags),
     GATHERS)
SCATTERS(preadv, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
SCATTERS(preadv64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
SCATTERS(preadv2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))

CALL(ssize_t, vmsplice, (int fd, const struct iovec *v, size_t count, unsigned flags), (fd, v, count, flags),
     gathers(v, (int)count, HD_CALLER))

static void sends(const struct mmsghdr *m, unsigned n, uint64_t pc) {
  if (!hot.active) return;
  hd__reads(m, n * sizeof *m, pc);
  for (unsigned i = 0; i < n; i++) {
    hd__reads(m[i].msg_hdr.msg_name, m[i].msg_hdr.msg_namelen, pc);
    gathers(m[i].msg_hdr.msg_iov, (int)m[i].msg_hdr.msg_iovlen, pc);
  }
}

static void received(const struct mmsghdr *m, unsigned n, uint64_t pc) {
  hd__writes(m, n * sizeof *m, pc);
  for (unsigned i = 0; i < n; i++)
    parts(m[i].msg_hdr.msg_iov, (int)m[i].msg_hdr.msg_iovlen, m[i].msg_len, true, pc);
}

RESULT(int, sendmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags), (fd, m, n, flags),
       sends(m, n, HD_CALLER), r > 0, WRITES(m, (size_t)r * sizeof *m))
RESULT(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t),
       (fd, m, n, flags, t), READS(m, n * sizeof *m);
       READS(t, sizeof *t), r > 0, received(m, (unsigned)r, HD_CALLER))

/* ---- descriptors ---- */

CALL(int, bind, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), READS(a, n))
CALL(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), READS(a, n))
RESULT(int, epoll_pwait2,
       (int fd, struct epoll_event *e, int n, const struct timespec *t, const sigset_t *mask),
       (fd, e, n, t, mask), READS(t, sizeof *t), r > 0, WRITES(e, (size_t)r * sizeof *e))
RESULT(ssize_t, sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n), READS(at, sizeof *at),
       r >= 0, WRITES(at, sizeof *at))
RESULT(ssize_t, sendfile64, (int to, int from, off64_t *at, size_t n), (to, from, at, n),
       READS(at, sizeof *at), r >= 0, WRITES(at, sizeof *at))
RESULT(ssize_t, copy_file_range, (int from, off64_t *a, int to, off64_t *b, size_t n, unsigned flags),
       (from, a, to, b, n, flags), READS(a, sizeof *a);
       READS(b, sizeof *b), r >= 0, WRITES(a, sizeof *a); WRITES(b, sizeof *b))
RESULT(ssize_t, splice, (int from, off64_t *a, int to, off64_t *b, size_t n, unsigned flags),
       (from, a, to, b, n, flags), READS(a, sizeof *a);
       READS(b, sizeof *b), r >= 0, WRITES(a, sizeof *a); WRITES(b, sizeof *b))
RESULT(ssize_t, getdents64, (int fd, void *d, size_t n), (fd, d, n), NOTHING, r > 0, WRITES(d, (size_t)r))
RESULT(int, readdir_r, (DIR * d, struct dirent *restrict e, struct dirent **restrict out), (d, e, out),
       WRITES(d, 8), r == 0, WRITES(out, sizeof *out);
       if (*out) WRITES(e, e->d_reclen))
RESULT(long, telldir, (DIR * d), (d), READS(d, 8), false, NOTHING)
HD_EXPORT void rewinddir(DIR *d) {
  static void *found;
  hd__real_init();
  WRITES(d, 8);
  ((void (*)(DIR *))hd__original(&found, "rewinddir"))(d);
}
HD_EXPORT void seekdir(DIR *d, long at) {
  static void *found;
  hd__real_init();
  WRITES(d, 8);
  ((void (*)(DIR *, long))hd__original(&found, "seekdir"))(d, at);
}
RESULT(int, tcgetattr, (int fd, struct termios *t), (fd, t), NOTHING, r == 0, WRITES(t, sizeof *t))
CALL(int, tcsetattr, (int fd, int when, const struct termios *t), (fd, when, t), READS(t, sizeof *t))

/* One is closed after the other, or gets its flag, as the kernel does it: others may run between. */
static void close_all(unsigned from, unsigned to, int flags) {
  int old;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old); /* unlike close it is no cancellation point */
  for (long fd; (fd = hd__fd_next(from)) >= 0 && fd <= (long)to; from = (unsigned)fd + 1)
    if (flags & CLOSE_RANGE_CLOEXEC)
      fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    else
      close((int)fd);
  pthread_setcancelstate(old, NULL);
}

HD_EXPORT int close_range(unsigned from, unsigned to, int flags);
int close_range(unsigned from, unsigned to, int flags) {
  static void *found;
  hd__real_init();
  if (!hot.active || !rt.nunjoined || flags & ~CLOSE_RANGE_CLOEXEC || from > to)
    return ((__typeof__(&close_range))hd__original(&found, "close_range"))(from, to, flags);
  close_all(from, to, flags);
  return 0;
}

HD_EXPORT void closefrom(int from);
void closefrom(int from) {
  static void *found;
  hd__real_init();
  if (hot.active && rt.nunjoined)
    close_all(from > 0 ? (unsigned)from : 0, UINT32_MAX, 0);
  else
    ((__typeof__(&closefrom))hd__original(&found, "closefrom"))(from);
}

static size_t lock_size(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK ||
                 command == F_OFD_SETLKW || command == F_OFD_GETLK
             ? sizeof(struct flock)
             : 0;
}

/* Not variadic, which is the same to the caller: such a function keeps all registers, whatever they hold, on the stack, and a
 * loop around it would never be in the same state twice. */
#define FCNTL(name)                                                                                \
  HD_EXPORT int hd_rt_##name(int fd, int command, void *arg) __asm__(#name);                       \
  int hd_rt_##name(int fd, int command, void *arg) {                                               \
    static void *found;                                                                            \
    hd__real_init();                                                                               \
    int (*original)(int, int, ...) = (int (*)(int, int, ...))hd__original(&found, #name);          \
    if (!lock_size(command)) return original(fd, command, arg);                                    \
    READS(arg, lock_size(command));                                                                \
    int r = original(fd, command, arg);                                                            \
    if (r == 0 && (command == F_GETLK || command == F_OFD_GETLK)) WRITES(arg, lock_size(command)); \
    return r;                                                                                      \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

/* ---- objects of System V, message queues ---- */

CALL(int, semop, (int id, struct sembuf *s, size_t n), (id, s, n), READS(s, n * sizeof *s))
CALL(int, semtimedop, (int id, struct sembuf *s, size_t n, const struct timespec *t), (id, s, n, t),
     READS(s, n * sizeof *s);
     READS(t, sizeof *t))
RESULT(int, msgctl, (int id, int command, struct msqid_ds *d), (id, command, d), NOTHING,
       r >= 0 && command == IPC_STAT, WRITES(d, sizeof *d))
RESULT(int, shmctl, (int id, int command, struct shmid_ds *d), (id, command, d), NOTHING,
       r >= 0 && command == IPC_STAT, WRITES(d, sizeof *d))
/* Numbers of semaphores in a set, two bytes for each. */
static size_t values_of(int id) {
  struct semid_ds d;
  return hd_sys4(SYS_semctl, id, 0, IPC_STAT, (long)&d) < 0 ? 0 : d.sem_nsems * sizeof(unsigned short);
}

/* Not libc's, which is variadic. What the caller has left in the place of an argument that it did not give must not differ;
 * syscall() reads all six. */
HD_EXPORT int hd_rt_semctl(int id, int number, int command, void *arg) __asm__("semctl");
int hd_rt_semctl(int id, int number, int command, void *arg) {
  hd__real_init();
  bool takes =
      command == SETVAL || command == SETALL || command == GETALL || command < GETPID || command > SETALL;
  if (!takes) arg = NULL;
  if (command == SETALL) READS(arg, values_of(id));
  if (command == IPC_SET) READS(arg, sizeof(struct semid_ds));
  int r = (int)real_syscall(SYS_semctl, id, number, command, arg, 0L, 0L);
  if (r >= 0 && command == GETALL) WRITES(arg, values_of(id));
  if (r >= 0 && command == IPC_STAT) WRITES(arg, sizeof(struct semid_ds));
  return r;
}
CALL(int, mq_timedsend, (mqd_t q, const char *d, size_t n, unsigned p, const struct timespec *t),
     (q, d, n, p, t), READS(d, n);
     READS(t, sizeof *t))
RESULT(int, mq_setattr, (mqd_t q, const struct mq_attr *restrict a, struct mq_attr *restrict old),
       (q, a, old), READS(a, sizeof *a), r == 0, WRITES(old, sizeof *old))

CALL(key_t, ftok, (const char *path, int n), (path, n), path = READS_STRING(path))
CALL(iconv_t, iconv_open, (const char *to, const char *from), (to, from), to = READS_STRING(to);
     from = READS_STRING(from))

/* ---- threads and processes ---- */

#define THREAD_NAME 16

static bool takes_no_argument(int option) {
  return option == PR_GET_DUMPABLE || option == PR_GET_KEEPCAPS || option == PR_GET_SECUREBITS ||
         option == PR_GET_TIMERSLACK || option == PR_GET_NO_NEW_PRIVS;
}

static __attribute__((noinline)) long prctl_with(int option, long a, long b, long c, long d) {
  if (option == PR_SET_NAME) a = (long)READS_STRING((const char *)a);
  int r = (int)real_syscall(SYS_prctl, option, a, b, c, d, 0L);
  if (r == 0 && option == PR_GET_NAME) WRITES((void *)a, THREAD_NAME);
  if (r == 0 && option == PR_GET_PDEATHSIG) WRITES((void *)a, sizeof(int));
  return r;
}

static __attribute__((noinline)) long prctl_asks(int option) {
  return real_syscall(SYS_prctl, (long)option, 0L, 0L, 0L, 0L);
}

/* As semctl. What the caller has left there must not be in a register or frame during the call, either: two rounds of a loop
 * would differ (spin.c). So both are jumps at the end of the function; hence the type. */
HD_EXPORT long hd_rt_prctl(int option, long a, long b, long c, long d) __asm__("prctl");
long hd_rt_prctl(int option, long a, long b, long c, long d) {
  hd__real_init();
  return takes_no_argument(option) ? prctl_asks(option) : prctl_with(option, a, b, c, d);
}

CALL(int, sched_setparam, (__pid_t pid, const struct sched_param *p), (pid, p), READS(p, sizeof *p))
CALL(int, sched_setscheduler, (__pid_t pid, int policy, const struct sched_param *p), (pid, policy, p),
     READS(p, sizeof *p))
RESULT(int, sched_rr_get_interval, (__pid_t pid, struct timespec *t), (pid, t), NOTHING, r == 0,
       WRITES(t, sizeof *t))
RESULT(int, clock_getcpuclockid, (pid_t pid, clockid_t *c), (pid, c), NOTHING, r == 0, WRITES(c, sizeof *c))
RESULT(int, getgrouplist, (const char *user, gid_t group, gid_t *list, int *n), (user, group, list, n),
       READS_STRING(user);
       READS(n, sizeof *n), true, WRITES(n, sizeof *n); if (r > 0) WRITES(list, (size_t)r * sizeof *list))
RESULT(int, getlogin_r, (char *d, size_t n), (d, n), NOTHING, r == 0, WRITES(d, real_strlen(d) + 1))
RESULT(int, ttyname_r, (int fd, char *d, size_t n), (fd, d, n), NOTHING, r == 0,
       WRITES(d, real_strlen(d) + 1))
RESULT(int, ptsname_r, (int fd, char *d, size_t n), (fd, d, n), NOTHING, r == 0,
       WRITES(d, real_strlen(d) + 1))

#define ATTRIBUTE_GET(name, out)                                                                      \
  RESULT(int, name, (const pthread_attr_t *restrict a, out *restrict v), (a, v), READS(a, sizeof *a), \
         r == 0, WRITES(v, sizeof *v))
ATTRIBUTE_GET(pthread_attr_getdetachstate, int)
ATTRIBUTE_GET(pthread_attr_getguardsize, size_t)
ATTRIBUTE_GET(pthread_attr_getschedparam, struct sched_param)
ATTRIBUTE_GET(pthread_attr_getschedpolicy, int)
ATTRIBUTE_GET(pthread_attr_getstacksize, size_t)
RESULT(int, pthread_attr_getstack, (const pthread_attr_t *restrict a, void **restrict lo, size_t *restrict n),
       (a, lo, n), READS(a, sizeof *a), r == 0, WRITES(lo, sizeof *lo);
       WRITES(n, sizeof *n))

/* ---- text ---- */

CALL(int, fnmatch, (const char *pattern, const char *text, int flags), (pattern, text, flags),
     pattern = READS_STRING(pattern);
     text = READS_STRING(text); LOCALE)
RESULT(size_t, mbsrtowcs, (wchar_t *restrict d, const char **restrict s, size_t n, mbstate_t *restrict p),
       (d, s, n, p), READS(s, sizeof *s);
       READS_STRING(*s); LOCALE, (ssize_t)r >= 0 && d, WRITES(d, (r < n ? r + 1 : n) * sizeof *d);
       WRITES(s, sizeof *s))
RESULT(size_t, wcsrtombs, (char *restrict d, const wchar_t **restrict s, size_t n, mbstate_t *restrict p),
       (d, s, n, p), READS(s, sizeof *s);
       if (hot.active) hd__hold_wide(*s, SIZE_MAX, HD_CALLER);
       LOCALE, (ssize_t)r >= 0 && d, WRITES(d, r < n ? r + 1 : n); WRITES(s, sizeof *s))
#define WIDE_NUMBER(ret, name)                                                                     \
  RESULT(ret, name, (const wchar_t *restrict s, wchar_t **restrict end, int base), (s, end, base), \
         if (hot.active) hd__hold_wide(s, SIZE_MAX, HD_CALLER), true, WRITES(end, sizeof *end))
WIDE_NUMBER(long, wcstol)
WIDE_NUMBER(unsigned long, wcstoul)
WIDE_NUMBER(long long, wcstoll)
WIDE_NUMBER(unsigned long long, wcstoull)
RESULT(double, wcstod, (const wchar_t *restrict s, wchar_t **restrict end), (s, end),
       if (hot.active) hd__hold_wide(s, SIZE_MAX, HD_CALLER);
       LOCALE, true, WRITES(end, sizeof *end))
