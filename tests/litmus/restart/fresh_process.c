// Environment, arguments, working folder, umask, signal handlers and open files are restored.
// restart: memory fork
// argv: first second
// expect: clean executions=200
#include "litmus.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

extern char **environ;

static void handler(int s) { (void)s; }
static void *worker(void *arg) { return arg; }

int main(int argc, char **argv)
{
  struct sigaction old;
  char cwd[4096];
  assert(argc == 3 && strcmp(argv[1], "first") == 0 && strcmp(argv[2], "second") == 0);
  assert(getenv("HD_TEST_VARIABLE") == NULL && getenv("PATH") != NULL);
  assert(getcwd(cwd, sizeof cwd) && strcmp(cwd, "/") != 0);
  assert(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
  mode_t mask = umask(0777);
  assert(mask != 0777);
  join(spawn(worker, NULL));
  argv[1][0] = 'X';
  argv[2] = NULL;
  setenv("HD_TEST_VARIABLE", "set", 1);
  unsetenv("PATH");
  environ = NULL;
  signal(SIGUSR1, handler);
  assert(chdir("/") == 0);
  umask(mask);
  int fd = open("/dev/null", O_RDONLY);
  assert(fd >= 0 && fd < 64); /* left open on purpose; it would grow */
  return 0;
}
