// Starting a program reads its arguments and environment, and what says how it is started.
// native: no
// expect: kind=data-race
// argv: execv
// expect: kind=data-race
// argv: execl
// expect: kind=data-race
// argv: execle
// expect: kind=data-race
// argv: spawn
// expect: kind=data-race
// argv: actions
// expect: kind=data-race
// argv: attributes
// expect: kind=data-race
// argv: pid
#include <spawn.h>
#include <sys/wait.h>

#include "litmus.h"

static char text[8] = "A=1";
static char *list[] = {"true", text, NULL};
static posix_spawn_file_actions_t actions;
static posix_spawnattr_t attributes;
static pid_t pid;
static const char *what;

static void *change(void *arg)
{
  if (!strcmp(what, "actions"))
    posix_spawn_file_actions_addclose(&actions, 0);
  else if (!strcmp(what, "attributes"))
    posix_spawnattr_setflags(&attributes, 0);
  else if (!strcmp(what, "pid"))
    pid = 1;
  else
    text[2] = '2';
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  what = argv[1];
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  pthread_t t = spawn(change, NULL);
  if (!strcmp(what, "execv")) execv("/bin/true", list);
  if (!strcmp(what, "execl")) execl("/bin/true", "true", text, (char *)NULL);
  if (!strcmp(what, "execle")) execle("/bin/true", "true", (char *)NULL, list + 1);
  posix_spawn(&pid, "/bin/true", &actions, &attributes, list, list + 1);
  join(t);
  waitpid(pid, NULL, 0);
  return 0;
}
