// A descriptor by a name that begins in a folder of /proc: open beforehand, or the working folder; the list of all numbers; a
// name through several slashes; the idiom that gives a file a name.
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
// argv: above
// where: function=main line=@above
// expect: kind=assertion
// argv: working
// where: function=main line=@working
// expect: kind=assertion
// argv: slashes
// where: function=main line=@slashes
// expect: kind=assertion
// argv: list
// where: function=main line=@list
// expect: kind=assertion
// argv: name
// where: function=main line=@name
// expect: clean executions=20
// argv: other
#include "litmus.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

static int fd;

static void *closer(void *arg)
{
  if (arg) close(fd);
  return NULL;
}

static int listed(DIR *folder)
{
  int n = 0;
  for (struct dirent *e; (e = readdir(folder));) n += atoi(e->d_name) == fd && e->d_name[0] != '.';
  return n;
}

int main(int argc, char **argv)
{
  char number[24], below[32], name[48], to[40];
  struct stat st;
  if (argc < 2) return 0;
  fd = open("/dev/null", O_RDONLY);
  snprintf(number, sizeof number, "%d", fd);
  snprintf(below, sizeof below, "fd/%d", fd);
  snprintf(name, sizeof name, "/proc//self/./fd/%d", fd);
  int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY), above = open("/proc/self", O_RDONLY | O_DIRECTORY);
  DIR *all = opendir("/proc/self/fd");
  if (!strcmp(argv[1], "working")) assert(chdir("/proc/self/fd") == 0);
  if (!strcmp(argv[1], "name")) {
    fd = open(".", O_TMPFILE | O_RDWR, 0600);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  }
  pthread_t t = spawn(closer, strcmp(argv[1], "other") ? &fd : NULL);
  if (!strcmp(argv[1], "open")) assert(openat(folder, number, O_RDONLY) >= 0);                       /* @open */
  if (!strcmp(argv[1], "stat")) assert(fstatat(folder, number, &st, 0) == 0);                        /* @stat */
  if (!strcmp(argv[1], "link")) assert(readlinkat(folder, number, to, sizeof to) > 0);               /* @link */
  if (!strcmp(argv[1], "above")) assert(openat(above, below, O_RDONLY) >= 0);                        /* @above */
  if (!strcmp(argv[1], "working")) assert(access(number, F_OK) == 0);                                /* @working */
  if (!strcmp(argv[1], "slashes")) assert(access(name, F_OK) == 0);                                  /* @slashes */
  if (!strcmp(argv[1], "list")) assert(listed(all) == 1);                                            /* @list */
  if (!strcmp(argv[1], "name")) assert(!linkat(AT_FDCWD, name, AT_FDCWD, "named", AT_SYMLINK_FOLLOW)); /* @name */
  if (!strcmp(argv[1], "other")) {
    assert(openat(folder, number, O_RDONLY) >= 0);
    snprintf(number, sizeof number, "%d/status", (int)getpid());
    assert(openat(open("/proc", O_RDONLY), number, O_RDONLY) >= 0);
  }
  join(t);
  return 0;
}
