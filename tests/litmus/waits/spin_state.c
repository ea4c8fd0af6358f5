// A thread waits in a loop around a call that looks at state of the process, until another one changes it.
// compilers: gcc
// expect: exact executions=3
// argv: directory
// expect: exact executions=3
// argv: environment
// expect: exact executions=3
// argv: unset
// expect: exact executions=3
// argv: handler
// expect: exact executions=3
// argv: name
// expect: exact executions=3
// argv: locale
// expect: exact executions=3
// argv: limit
// expect: exact executions=3
// argv: priority
// expect: exact executions=3
// argv: attribute
// expect: exact executions=3
// argv: ended
// expect: exact executions=3
// argv: closed
// expect: exact executions=3
// argv: number
// expect: exact executions=3
// argv: mode
// expect: exact executions=3
// argv: position
// expect: exact executions=3
// argv: size
// expect: exact executions=3
// argv: contents
// expect: exact executions=3
// argv: made
// expect: exact executions=3
// argv: removed
// expect: exact executions=3
// argv: lock-file
// expect: exact executions=3
// argv: lock-directory
// expect: kind=livelock
// argv: never
#define _GNU_SOURCE
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "litmus.h"

static const char *what;
static pthread_t first;
static int fd, ends[2];

static int is(const char *s) { return !strcmp(what, s); }
static void handler(int sig) { (void)sig; }
static int make(const char *name) { return close(open(name, O_CREAT | O_EXCL | O_WRONLY, 0600)); }

static void prepare(void)
{
  struct rlimit limit;
  if (is("directory") && chdir("/")) abort();
  if (is("unset")) setenv("LITMUS", "1", 1);
  if (is("limit")) getrlimit(RLIMIT_NOFILE, &limit), limit.rlim_cur = 200, setrlimit(RLIMIT_NOFILE, &limit);
  if (is("closed") || is("number")) fd = open("/dev/null", O_RDONLY);
  if (is("mode") && pipe(ends)) abort();
  if (is("position") || is("size") || is("contents")) fd = open(".", O_TMPFILE | O_RDWR, 0600);
  if (is("removed") || is("lock-file")) make("litmus_file");
  if (is("lock-directory")) mkdir("litmus_file", 0700);
}

static void *change(void *arg)
{
  struct rlimit limit;
  if (is("directory") && chdir("/tmp")) abort();
  if (is("environment")) setenv("LITMUS", "1", 1);
  if (is("unset")) unsetenv("LITMUS");
  if (is("handler")) signal(SIGUSR1, handler);
  if (is("name")) pthread_setname_np(first, "changed");
  if (is("locale")) setlocale(LC_ALL, "C.UTF-8");
  if (is("limit")) getrlimit(RLIMIT_NOFILE, &limit), limit.rlim_cur = 100, setrlimit(RLIMIT_NOFILE, &limit);
  if (is("priority")) setpriority(PRIO_PROCESS, 0, 5);
  if (is("attribute")) prctl(PR_SET_DUMPABLE, 0);
  if (is("closed")) close(fd);
  if (is("number")) dup2(fd, 77);
  if (is("mode")) fcntl(ends[0], F_SETFL, O_NONBLOCK);
  if ((is("position") || is("size") || is("contents")) && write(fd, "abc", 3) != 3) abort();
  if (is("made")) make("litmus_file");
  if (is("removed") || is("lock-file")) unlink("litmus_file");
  if (is("lock-directory")) rmdir("litmus_file");
  return arg;
}

static int waits(pthread_t t)
{
  char text[256] = "";
  struct sigaction action = {.sa_handler = SIG_DFL};
  struct rlimit limit;
  struct stat status;
  if (is("directory")) return !getcwd(text, sizeof text) || strcmp(text, "/tmp");
  if (is("environment") || is("never")) return !getenv("LITMUS");
  if (is("unset")) return getenv("LITMUS") != NULL;
  if (is("handler")) return sigaction(SIGUSR1, NULL, &action) || action.sa_handler != handler;
  if (is("name")) return pthread_getname_np(first, text, sizeof text) || strcmp(text, "changed");
  if (is("locale")) return strcmp(setlocale(LC_ALL, NULL), "C.UTF-8");
  if (is("limit")) return getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur != 100;
  if (is("priority")) return getpriority(PRIO_PROCESS, 0) != 5;
  if (is("attribute")) return prctl(PR_GET_DUMPABLE);
  if (is("ended")) return pthread_tryjoin_np(t, NULL) == EBUSY;
  if (is("closed")) return fcntl(fd, F_GETFD) >= 0;
  if (is("number")) return fcntl(77, F_GETFD) < 0;
  if (is("mode")) return !(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
  if (is("position")) return lseek(fd, 0, SEEK_CUR) == 0;
  if (is("size")) return fstat(fd, &status) || status.st_size == 0;
  if (is("contents")) return pread(fd, text, 1, 2) != 1;
  if (is("made")) return access("litmus_file", F_OK) != 0;
  if (is("removed")) return stat("litmus_file", &status) == 0;
  if (is("lock-file")) return make("litmus_file") != 0;
  return mkdir("litmus_file", 0700) != 0;
}

int main(int argc, char **argv)
{
  if (argc < 2) return 0;
  what = argv[1];
  first = pthread_self();
  prepare();
  pthread_t t = spawn(change, NULL);
  while (waits(t)) {}
  if (!is("ended")) join(t);
  if (is("lock-directory")) rmdir("litmus_file");
  if (is("made") || is("lock-file")) unlink("litmus_file");
  return 0;
}
