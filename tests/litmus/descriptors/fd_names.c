// A descriptor by its name: whether the number is open, and what it refers to, depends on who closes and opens it.
// expect: kind=assertion
// argv: open
// where: function=main line=@open
// expect: kind=assertion
// argv: stat
// where: function=main line=@stat
// expect: kind=assertion
// argv: link
// where: function=main line=@link
// expect: kind=assertion
// argv: opened
// where: function=main line=@opened
// expect: kind=assertion
// argv: info
// where: function=main line=@info
// expect: kind=assertion
// argv: process
// where: function=main line=@process
// expect: clean executions=20
// argv: own
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "litmus.h"

static int fd;

static void *closer(void *arg)
{
  if (arg) close(fd);
  return NULL;
}

static void *opener(void *arg)
{
  int other = open("/dev/null", O_RDONLY);
  assert(other >= 0 && close(other) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  char name[40], to[40];
  struct stat st;
  if (argc < 2) return 0;
  fd = open("/dev/null", O_RDONLY);
  int closes = strcmp(argv[1], "opened") && strcmp(argv[1], "own");
  pthread_t t = spawn(closes ? closer : opener, &fd);
  if (!strcmp(argv[1], "open")) {
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    assert(open(name, O_RDONLY) >= 0); /* @open */
  } else if (!strcmp(argv[1], "stat")) {
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert(stat(name, &st) == 0); /* @stat */
  } else if (!strcmp(argv[1], "link")) {
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert(readlink(name, to, sizeof to) > 0); /* @link */
  } else if (!strcmp(argv[1], "info")) {
    snprintf(name, sizeof name, "/proc/self/fdinfo/%d", fd);
    assert(open(name, O_RDONLY) >= 0); /* @info */
  } else if (!strcmp(argv[1], "process")) {
    snprintf(name, sizeof name, "/proc/%d/task/%d/fd/%d", getpid(), getpid(), fd);
    assert(open(name, O_RDONLY) >= 0); /* @process */
  } else if (!strcmp(argv[1], "opened")) {
    snprintf(name, sizeof name, "/proc/thread-self/fd/%d", fd + 1);
    assert(access(name, F_OK) < 0); /* @opened */
  } else {
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    assert(open(name, O_RDONLY) >= 0);
  }
  join(t);
  return 0;
}
