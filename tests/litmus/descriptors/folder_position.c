// The position in a folder, which no lock protects that a program may rely on.
// native: no
// expect: kind=data-race
// argv: rewind
// expect: kind=data-race
// argv: seek
// expect: kind=data-race
// argv: tell
// expect: exact executions=2
// argv: locked
#include <dirent.h>

#include "litmus.h"

static DIR *d;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *what;

static void *move(void *arg)
{
  if (!strcmp(what, "rewind")) rewinddir(d);
  if (!strcmp(what, "seek")) seekdir(d, 0);
  if (!strcmp(what, "tell")) telldir(d);
  if (!strcmp(what, "locked")) {
    pthread_mutex_lock(&lock);
    rewinddir(d);
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  what = argv[1];
  d = opendir(".");
  pthread_t t = spawn(move, NULL);
  pthread_mutex_lock(&lock);
  assert(readdir(d));
  pthread_mutex_unlock(&lock);
  join(t);
  closedir(d);
  return 0;
}
