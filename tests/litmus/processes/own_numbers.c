// The numbers of the process, its group and its threads are the program's own wherever the kernel takes or gives them.
// expect: clean executions=1

#include "../litmus.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <linux/capability.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

/* A descriptor's signals go to a thread, or to the process. */
static void owners(int fd, long tid) {
  struct f_owner_ex to = {F_OWNER_TID, tid}, back = {0};
  int number = getpid();
  assert(!fcntl(fd, F_SETOWN_EX, &to) && to.pid == tid);
  assert(!fcntl(fd, F_GETOWN_EX, &back) && back.type == F_OWNER_TID && back.pid == tid);
  to = (struct f_owner_ex){F_OWNER_PID, getpid()};
  assert(!fcntl(fd, F_SETOWN_EX, &to) && !fcntl(fd, F_GETOWN_EX, &back) && back.pid == getpid());
  assert(!ioctl(fd, FIOSETOWN, &number) && number == getpid());
  number = 0;
  assert(!ioctl(fd, FIOGETOWN, &number) && number == getpid());
}

/* Who used what processes share. */
static void users(void) {
  int memory = shmget(IPC_PRIVATE, 4096, 0600), queue = msgget(IPC_PRIVATE, 0600), set = semget(IPC_PRIVATE, 1, 0600);
  struct shmid_ds shm;
  struct msqid_ds msg;
  struct { long type; char text; } message = {1, 'x'};
  assert(!shmctl(memory, IPC_STAT, &shm) && shm.shm_cpid == getpid());
  assert(!msgsnd(queue, &message, 1, 0) && !msgctl(queue, IPC_STAT, &msg) && msg.msg_lspid == getpid());
  assert(!semctl(set, 0, SETVAL, 1) && semctl(set, 0, GETPID) == getpid());
  shmctl(memory, IPC_RMID, NULL);
  msgctl(queue, IPC_RMID, NULL);
  semctl(set, 0, IPC_RMID);
}

/* A child sees that its parent has the lock. */
static void lock(void) {
  int fd = open("locked", O_RDWR | O_CREAT, 0600), status;
  struct flock all = {.l_type = F_WRLCK};
  assert(fd >= 0 && !fcntl(fd, F_SETLK, &all));
  pid_t child = fork();
  if (!child) {
    struct flock mine = {.l_type = F_WRLCK};
    _exit(fcntl(fd, F_GETLK, &mine) || mine.l_type != F_WRLCK || mine.l_pid != getppid());
  }
  assert(waitpid(child, &status, 0) == child && !status);
  close(fd);
}

static long thread;
static void *run(void *arg) {
  char path[60];
  thread = syscall(SYS_gettid);
  int pair[2];
  assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  owners(pair[0], thread);
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, thread};
  struct __user_cap_data_struct data[2];
  assert(!syscall(SYS_capget, &header, data) && header.pid == thread);
  void *list;
  size_t length;
  assert(!syscall(SYS_get_robust_list, thread, &list, &length));
  assert(syscall(SYS_kcmp, getpid(), thread, KCMP_VM, 0, 0) == 0 || errno == EPERM || errno == ENOSYS);
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
  users();
  lock();
  return 0;
}
