"""What the tests of wrapped functions share: a program with a body for each of two threads, and what comes of it."""

HEAD = """
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <aio.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <getopt.h>
#include <grp.h>
#include <iconv.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <poll.h>
#include <sys/xattr.h>
#include <utime.h>
#include <termios.h>
#include <sys/uio.h>
#include <sys/sem.h>
#include <sys/inotify.h>
#include <pwd.h>
#include <regex.h>
#include <search.h>
#include <stdarg.h>
#include <wchar.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <search.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <glob.h>
#include <ifaddrs.h>
#include <argz.h>
#include <envz.h>
#include <err.h>
#include <fts.h>
#include <ftw.h>
#include <libgen.h>
#undef basename
#include <net/if.h>
#include <fstab.h>
#include <mntent.h>
#include <monetary.h>
#include <netinet/ether.h>
#include <shadow.h>
#include <syslog.h>
#include <utmp.h>
#include <utmpx.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <uchar.h>
#include <wordexp.h>
#include <heddle.h>
char buf[4096] __attribute__((aligned(16))) = "hello", other[4096] __attribute__((aligned(16))) = "world"; /* shared, not static: nothing may be optimised away */
volatile size_t n = 8;
void *keep; long result;
pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t c = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spin;
sem_t sem;
__attribute__((constructor)) static void init(void) { sem_init(&sem, 0, 1); pthread_spin_init(&spin, 0); }
pthread_key_t key;
pthread_once_t once = PTHREAD_ONCE_INIT;
static void nothing(void) {}
/* Functions with a va_list, by one with arguments. */
static int va(int what, char *d, const char *f, ...) {
  va_list ap;
  va_start(ap, f);
  FILE *null = fopen("/dev/null", "w");
  int r = what == 0 ? vsprintf(d, f, ap) : what == 1 ? vsnprintf(d, 64, f, ap) : what == 2 ? vasprintf((char **)d, f, ap)
        : what == 3 ? vfprintf(null, f, ap) : what == 4 ? vprintf(f, ap) : what == 5 ? vdprintf(fileno(null), f, ap)
        : what == 6 ? vsscanf("12345678", f, ap) : what == 7 ? vfscanf(fmemopen("12345678", 8, "r"), f, ap) : vscanf(f, ap);
  va_end(ap);
  return r;
}
static int walk(const char *p, const struct stat *st, int f) { (void)p, (void)st; return f < -9; }
static int walk4(const char *p, const struct stat *st, int f, struct FTW *w) { (void)w; return walk(p, st, f); }
static FILE *text(void) { return fmemopen("hello world", 11, "r"); }
static FILE *nowhere(void) { return fopen("/dev/null", "w"); }
static int vas(int what, const char *f, ...) {
  va_list ap;
  va_start(ap, f);
  wchar_t d[99];
  FILE *null = fopen("/dev/null", "w");
  int r = 0;
  if (what == 0) vwarn(f, ap);
  if (what == 1) vwarnx(f, ap);
  if (what == 2) r = vswprintf(d, 99, L"%s", ap);
  if (what == 3) r = vfwprintf(null, L"%s", ap);
  if (what == 4) r = vwprintf(L"%s", ap);
  if (what == 5) r = vswscanf(L"12345678", L"%d", ap);
  if (what == 6) r = vfwscanf(fopen("/proc/loadavg", "r"), L"%d", ap);
  if (what == 7) r = vwscanf(L"%d", ap);
  if (what == 8) vsyslog(LOG_DEBUG, f, ap);
  va_end(ap);
  return r;
}
static void visit(const void *node, VISIT which, int depth) { (void)node; (void)which; (void)depth; }
static int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static int order_r(const void *a, const void *b, void *arg) { return *(const char *)a - *(const char *)b + !arg; }
static int start(void *arg) { return arg != 0; }
static struct timespec soon(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); t.tv_sec++; return t; }
"""

MAIN = """
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  %s
  return 0;
}
"""


def program(one, two="", end="", extra=""):
    body = "static void *%s(void *arg) { %s; return arg; }\n"
    return HEAD + extra + body % ("one", one) + body % ("two", two) + MAIN % end


def kinds(s, source, *options):
    r = s.search("check", s.build_text(source, "-O1", "-fno-builtin", "-lm"), *options, "--strategy", "random",
                 "--max-executions", "3000")
    return r, [f["kind"] for f in r["findings"]]
