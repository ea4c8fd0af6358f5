// The list of threads, as /proc shows it: those of the program, from their creation to their end.
// native: no
// expect: exact executions=4
// argv: list
// expect: kind=assertion
// argv: list two
// expect: exact executions=2
// argv: status
// expect: kind=assertion
// argv: status two
// expect: exact executions=2
// argv: stat
// expect: kind=assertion
// argv: stat two
// expect: exact executions=2
// argv: links
// expect: kind=assertion
// argv: links two
// expect: exact executions=1
// argv: descriptors
// expect: exact executions=2
// argv: nobody
#include <dirent.h>
#include <sys/stat.h>

#include "litmus.h"

static int list(void)
{
  int n = 0;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
  closedir(d);
  return n;
}

static int status(void)
{
  FILE *f = fopen("/proc/self/status", "r");
  char line[256];
  int n = 0, pid = 0;
  while (fgets(line, sizeof line, f)) {
    if (sscanf(line, "Pid: %d", &pid) == 1) assert(pid == getpid());
    if (sscanf(line, "PPid: %d", &pid) == 1) assert(pid == getppid());
    sscanf(line, "Threads: %d", &n);
  }
  fclose(f);
  return n;
}

static int stat20(void)
{
  FILE *f = fopen("/proc/self/stat", "r");
  char line[1024];
  if (!fgets(line, sizeof line, f)) abort();
  fclose(f);
  assert(atoi(line) == getpid());
  char *p = strrchr(line, ')') + 2;
  for (int i = 3; i < 20; i++) p = strchr(p, ' ') + 1;
  return atoi(p);
}

static int links(void)
{
  struct stat s;
  assert(stat("/proc/self/task", &s) == 0);
  return (int)s.st_nlink - 2;
}

/* None of the runtime's, which come from 900 on. */
static int descriptors(void)
{
  DIR *d = opendir("/proc/self/fd");
  for (struct dirent *e; (e = readdir(d));) assert(atoi(e->d_name) < 900);
  closedir(d);
  return 1;
}

MUTEX(mutex);
static void *other(void *arg) { return arg; }
static void *locks(void *arg)
{
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return arg;
}

int main(int argc, char **argv)
{
  int (*how)(void) = strcmp(argv[1], "list") == 0     ? list
                     : strcmp(argv[1], "status") == 0 ? status
                     : strcmp(argv[1], "stat") == 0   ? stat20
                     : strcmp(argv[1], "links") == 0  ? links
                                                      : descriptors;
  if (strcmp(argv[1], "nobody") == 0) return both(locks, locks), 0;
  assert(how() == 1);
  pthread_t t = spawn(other, NULL);
  int n = how();
  if (argc > 2) assert(n == 2); /* it may have ended already */
  assert(n == 1 || n == 2);
  join(t);
  assert(how() == 1);
  return 0;
}
