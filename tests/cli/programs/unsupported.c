/* What a controlled run does not support yet, one thing by argument. The line that does it carries its
 * name. */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pipe_[2], pair[2], word;
static const char *what;

#define CASE(name) if (strcmp(what, name) == 0)

static void *blocker(void *arg)
{
  char c;
  struct pollfd poll_fd = {pipe_[0], POLLIN, 0};
  struct epoll_event event = {.events = EPOLLIN};
  fd_set set;
  sigset_t signals;
  int n, epoll = epoll_create1(0);
  FD_ZERO(&set);
  FD_SET(pipe_[0], &set);
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  epoll_ctl(epoll, EPOLL_CTL_ADD, pipe_[0], &event);
  CASE("read") n = (int)read(pipe_[0], &c, 1);
  CASE("poll") poll(&poll_fd, 1, -1);
  CASE("select") select(pipe_[0] + 1, &set, NULL, NULL, NULL);
  CASE("recv") n = (int)recv(pair[0], &c, 1, 0);
  CASE("epoll_wait") epoll_wait(epoll, &event, 1, -1);
  CASE("fgetc") n = fgetc(fdopen(pipe_[0], "r"));
  CASE("futex") syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
  CASE("pause") pause();
  CASE("sigwait") sigwait(&signals, &n);
  (void)n;
  return arg;
}

int main(int argc, char **argv)
{
  char *args[] = {"true", NULL};
  pthread_t t;
  pid_t pid;
  what = argv[argc - 1];
  if (pipe(pipe_) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 2;
  CASE("fork") if (fork() == 0) _exit(0);
  CASE("vfork") if (vfork() == 0) _exit(0);
  CASE("system") if (system("true")) return 1;
  CASE("popen") pclose(popen("true", "r"));
  CASE("exec") execv("/bin/true", args);
  CASE("posix_spawn") posix_spawn(&pid, "/bin/true", NULL, NULL, args, NULL);
  pthread_create(&t, NULL, blocker, NULL);
  CASE("pthread_cancel") pthread_cancel(t);
  CASE("pthread_kill") pthread_kill(t, SIGUSR1);
  sched_yield();
  if (write(pipe_[1], "x", 1) != 1 || send(pair[1], "x", 1, 0) != 1) return 3;
  pthread_join(t, NULL);
  return 0;
}
