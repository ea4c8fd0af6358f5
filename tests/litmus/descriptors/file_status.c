// The size, the links and the mode of a file while another thread changes them, by descriptor and by name.
// expect: kind=assertion
// argv: write
// expect: kind=assertion
// argv: truncate
// expect: kind=assertion
// argv: open
// expect: kind=assertion
// argv: unlink
// expect: kind=assertion
// argv: mode
// expect: exact executions=1
// argv: nothing
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "litmus.h"

static int fd;
static const char *what;

static void *changer(void *arg)
{
  if (!strcmp(what, "write")) write(fd, "xyz", 3);
  if (!strcmp(what, "truncate")) truncate("file", 5);
  if (!strcmp(what, "open")) close(open("file", O_WRONLY | O_TRUNC));
  if (!strcmp(what, "unlink")) unlink("file");
  if (!strcmp(what, "mode")) fchmod(fd, 0400);
  return arg;
}

int main(int argc, char **argv)
{
  struct stat st;
  what = argc > 1 ? argv[1] : "";
  fd = open("file", O_CREAT | O_RDWR, 0600);
  write(fd, "x", 1);
  pthread_t t = spawn(changer, NULL);
  if (!strcmp(what, "write") || !strcmp(what, "mode"))
    stat("file", &st);
  else
    fstat(fd, &st);
  join(t);
  assert(st.st_size == 1 && st.st_nlink == 1 && (st.st_mode & 0777) == 0600);
  return 0;
}
