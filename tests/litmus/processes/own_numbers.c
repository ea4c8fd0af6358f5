// The numbers of the process, its group and its threads are the program's own wherever the kernel takes or gives them.
// expect: clean executions=1

#include "../litmus.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long number_in(const char *path, const char *form) {
  char line[400];
  int v = -1;
  FILE *f = fopen(path, "r");
  assert(f);
  while (v < 0 && fgets(line, sizeof line, f)) sscanf(line, form, &v);
  fclose(f);
  return v;
}

static long thread;
static void *run(void *arg) {
  char path[60];
  thread = syscall(SYS_gettid);
  assert(number_in("/proc/self/status", "Pid: %d") == getpid());
  assert(number_in("/proc/thread-self/status", "Pid: %d") == thread);
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
  assert(number_in(path, "%d") == thread);
  return arg;
}

int main(void) {
  pthread_t t;
  struct rlimit limit, same;
  struct timespec at;
  clockid_t clock;
  char text[60];
  int pair[2], group = getpgrp(), priority;
  pthread_create(&t, NULL, run, NULL);
  pthread_join(t, NULL);
  snprintf(text, sizeof text, "/proc/self/task/%d/stat", getpid());
  assert(number_in(text, "%d") == getpid());
  memset(text, 0, sizeof text);
  assert(readlink("/proc/self", text, sizeof text) > 0 && atoi(text) == getpid());

  errno = 0;
  priority = getpriority(PRIO_PROCESS, getpid());
  assert(!errno && priority == getpriority(PRIO_PROCESS, 0));
  getpriority(PRIO_PGRP, group);
  assert(!errno && syscall(SYS_ioprio_get, 1, getpid()) >= 0);
  assert(!prlimit(getpid(), RLIMIT_NOFILE, NULL, &limit));
  limit.rlim_cur--;
  assert(!prlimit(getpid(), RLIMIT_NOFILE, &limit, NULL) && !getrlimit(RLIMIT_NOFILE, &same));
  assert(same.rlim_cur == limit.rlim_cur);
  assert(!clock_getcpuclockid(getpid(), &clock) && !clock_gettime(clock, &at));

  assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  assert(!fcntl(pair[0], F_SETOWN, getpid()) && fcntl(pair[0], F_GETOWN) == getpid());
  assert(!fcntl(pair[0], F_SETOWN, -group) && fcntl(pair[0], F_GETOWN) == -group);
  assert(!kill(-group, 0) && !killpg(group, 0));
  return 0;
}
