// expect: clean executions=20
// args: --strategy random
/* system, popen, posix_spawn, vfork and exec, waitid, and a child that is killed. */
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "litmus.h"

extern char **environ;

static void *worker(void *arg)
{
  sched_yield();
  return arg;
}

int main(void)
{
  char line[100], *argv[] = {"sh", "-c", "exit 5", NULL}, *pause_argv[] = {"sleep", "1000", NULL};
  int status;
  pid_t pid;
  siginfo_t info;
  pthread_t t = spawn(worker, NULL);
  status = system("exit 3");
  assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  FILE *f = popen("echo hello $((6 * 7))", "r");
  assert(f && fgets(line, sizeof line, f) && strcmp(line, "hello 42\n") == 0 && pclose(f) == 0);
  assert(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0);
  assert(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 && info.si_status == 5 && info.si_pid == pid);
  assert(posix_spawnp(&pid, "sleep", NULL, NULL, pause_argv, environ) == 0);
  assert(waitpid(pid, &status, WNOHANG) == 0 && kill(pid, SIGTERM) == 0);
  assert(waitpid(-1, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  pid = vfork();
  if (pid == 0) {
    execv("/bin/sh", argv);
    _exit(127);
  }
  while (waitpid(pid, &status, WNOHANG) == 0) usleep(1000);
  assert(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  assert(execv("/no/such/program", argv) == -1 && errno == ENOENT);
  join(t);
  return 0;
}
