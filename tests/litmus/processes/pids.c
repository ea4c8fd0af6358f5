// Numbers of processes: those that the program sees fit /proc, credentials, and what a child sees.
// native: no
// expect: clean executions=20
// expect: clean executions=20
// argv: child
#include "litmus.h"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static sem_t *shared;

static void *worker(void *arg)
{
  char name[80];
  snprintf(name, sizeof name, "/proc/self/task/%d/comm", (int)syscall(SYS_gettid));
  int fd = open(name, O_RDONLY);
  assert(fd >= 0);
  close(fd);
  return arg;
}

static void in_child(pid_t parent)
{
  if (getppid() != parent || kill(parent, 0)) _exit(1);
  sem_post(shared);
  sem_wait(shared + 1);
  kill(parent, SIGUSR1);
  _exit(0);
}

int main(int argc, char **argv)
{
  (void)argv;
  pid_t me = getpid();
  char name[80];
  struct stat st;
  struct ucred peer;
  socklen_t size = sizeof peer;
  int fd[2], sig, status;
  snprintf(name, sizeof name, "/proc/%d/status", me);
  assert(stat(name, &st) == 0 && access(name, R_OK) == 0);
  assert(getpgid(me) == getpgrp() && getsid(me) >= 0 && kill(me, 0) == 0);
  assert(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
  assert(getsockopt(fd[0], SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == me);
  pthread_t t = spawn(worker, NULL);
  if (argc > 1) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(shared, 1, 0);
    sem_init(shared + 1, 1, 0);
    pid_t child = fork();
    if (!child) in_child(me);
    sem_wait(shared);
    sem_post(shared + 1);
    assert(sigwait(&set, &sig) == 0 && sig == SIGUSR1);
    assert(waitpid(child, &status, 0) == child && status == 0);
  }
  pthread_join(t, NULL);
  return 0;
}
