// A name that only one thread can make is a lock, and orders what it protects.
// expect: clean executions=300
// argv: folder
// expect: clean executions=300
// argv: link
// expect: kind=data-race
// argv: none
// where: function=counts
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *how;
static char folder[] = "locks-XXXXXX", file[40], lock[40];
static int count;

static int take(void) {
  if (!strcmp(how, "folder")) return mkdir(lock, 0700);
  return strcmp(how, "link") ? 0 : link(file, lock);
}

static void *counts(void *unused) {
  while (take()) {}
  count++;
  if (!strcmp(how, "folder")) rmdir(lock);
  if (!strcmp(how, "link")) unlink(lock);
  return unused;
}

int main(int argc, char **argv) {
  pthread_t t;
  how = argc > 1 ? argv[1] : "folder";
  if (!mkdtemp(folder)) return 0;
  snprintf(file, sizeof file, "%s/file", folder);
  snprintf(lock, sizeof lock, "%s/lock", folder);
  close(open(file, O_CREAT | O_RDWR, 0600));
  pthread_create(&t, NULL, counts, NULL);
  counts(NULL);
  pthread_join(t, NULL);
  unlink(file);
  rmdir(folder);
  assert(count == 2);
  return 0;
}
