// A program that drops its privileges, and lowers limits for good: no restart undoes that, so executions are forked.
// expect: clean
// native: no
#define _GNU_SOURCE
#include <assert.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

static void *nothing(void *arg) { return arg; }

int main(void) {
  struct rlimit l = {100, 100}, before;
  pthread_t t;
  int fd = open("made", O_CREAT | O_WRONLY, 0600);
  assert(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
  assert(getrlimit(RLIMIT_NPROC, &before) == 0 && before.rlim_max != 100);
  assert(setrlimit(RLIMIT_NPROC, &l) == 0);
  if (getuid() == 0) assert(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0 && setuid(0) != 0);
  pthread_create(&t, NULL, nothing, NULL);
  pthread_join(t, NULL);
  return 0;
}
