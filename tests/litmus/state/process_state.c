// State of the process that one thread changes and another uses: both orders are explored.
// expect: kind=assertion
// argv: cwd
// expect: kind=assertion
// argv: umask
// expect: kind=assertion
// argv: limit
// expect: kind=assertion
// argv: environment
// expect: kind=assertion
// argv: handlers
// expect: kind=assertion
// argv: priority
// expect: kind=assertion
// argv: name
// expect: exact executions=3
// argv: other
// expect: exact executions=1
// argv: early
// native: no
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "litmus.h"

static int is(const char *a, const char *b) { return !strcmp(a, b); }
static int order;
static void first(void) { assert(order++ == 0); }
static void second(void) { order++; }

static pthread_t first_thread;

static void *changes(void *how)
{
  struct rlimit none = {0, 512};
  if (is(how, "cwd") && chdir("/")) abort();
  if (is(how, "umask")) umask(077);
  if (is(how, "limit")) setrlimit(RLIMIT_NOFILE, &none);
  if (is(how, "environment")) setenv("LITMUS", "2", 1);
  if (is(how, "handlers")) atexit(second);
  if (is(how, "priority")) setpriority(PRIO_PROCESS, 0, 5);
  if (is(how, "name")) pthread_setname_np(first_thread, "two");
  if (is(how, "other")) unsetenv("OTHER"), clearenv();
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  const char *how = argv[1];
  int here = open(".", O_RDONLY | O_DIRECTORY);
  if (chdir("/proc")) abort();
  umask(0);
  putenv("LITMUS=1");
  setenv("OTHER", "1", 1);
  prctl(PR_SET_NAME, "one");
  first_thread = pthread_self();
  pthread_t t = spawn(changes, argv[1]);
  if (is(how, "cwd")) assert(access("self", F_OK) == 0);
  if (is(how, "umask")) {
    struct stat st;
    int fd = openat(here, "made", O_CREAT | O_EXCL | O_WRONLY, 0666);
    assert(fd >= 0 && fstat(fd, &st) == 0);
    assert((st.st_mode & 0777) == 0666);
  }
  if (is(how, "limit")) assert(open("/dev/null", O_RDONLY) >= 0);
  if (is(how, "environment")) assert(is(getenv("LITMUS"), "1"));
  if (is(how, "handlers")) atexit(first);
  if (is(how, "priority")) assert(getpriority(PRIO_PROCESS, 0) != 5);
  if (is(how, "name")) {
    char name[16];
    assert(prctl(PR_GET_NAME, name) == 0 && is(name, "one"));
  }
  if (is(how, "other")) setenv("OTHER", "2", 1);
  if (is(how, "early")) assert(access("self", F_OK) == 0 && is(secure_getenv("LITMUS"), "1"));
  join(t);
  return 0;
}
