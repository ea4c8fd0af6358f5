// expect: clean executions=50
// native: no
// restart: memory fork auto
/* Every execution finds the original files: one that is written, one that is appended to, one that is new. */
#include <fcntl.h>
#include <sys/stat.h>

#include "litmus.h"

static long size_of(const char *path)
{
  struct stat st;
  return stat(path, &st) ? -1 : (long)st.st_size;
}

static void *appender(void *arg)
{
  FILE *f = fopen("log", "a");
  fputs("line\n", f);
  fclose(f);
  return arg;
}

int main(void)
{
  assert(size_of("log") == -1 && size_of("new") == -1);
  assert(size_of("prog") > 1000); /* the program itself is there */
  int fd = open("new", O_RDWR | O_CREAT | O_EXCL, 0600);
  assert(fd >= 0 && write(fd, "abc", 3) == 3);
  both(appender, appender);
  assert(size_of("log") == 10);
  assert(truncate("log", 5) == 0 && size_of("log") == 5);
  assert(close(fd) == 0);
  return 0;
}
