// expect: clean executions=50
// native: no
// restart: memory fork auto
/* Folders, renaming, links, unlinking: all undone. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "litmus.h"

static void put(const char *path, const char *text)
{
  FILE *f = fopen(path, "w");
  assert(f);
  fputs(text, f);
  fclose(f);
}

static int entries(const char *path)
{
  DIR *d = opendir(path);
  int n = 0;
  assert(d);
  while (readdir(d)) n++;
  closedir(d);
  return n - 2;
}

static void *worker(void *arg)
{
  put("d/x", "x");
  assert(rename("d/x", "d/y") == 0);
  return arg;
}

int main(void)
{
  int before = entries(".");
  struct stat st;
  assert(mkdir("d", 0755) == 0);
  join(spawn(worker, NULL));
  assert(symlink("y", "d/link") == 0 && link("d/y", "d/hard") == 0 && entries("d") == 3);
  assert(chmod("d/y", 0400) == 0 && stat("d/hard", &st) == 0 && (st.st_mode & 0777) == 0400);
  assert(unlink("d/hard") == 0 && unlink("d/link") == 0 && rename("d", "e") == 0);
  assert(entries("e") == 1 && entries(".") == before + 1);
  put("f", "one");
  put("g", "two");
  assert(rename("g", "f") == 0 && unlink("e/y") == 0 && rmdir("e") == 0);
  return 0;
}
