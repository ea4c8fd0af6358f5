// Two threads read lines from children at once. popen takes a lock of libc's and makes a system call under it: the
// other thread waits for that lock, and nobody is stuck. (A finding here need not replay: how a child's output is cut
// into pieces is chance.)
// restart: memory fork
// expect: clean executions=40
// args: --strategy random
#include "litmus.h"

MUTEX(lock);
static int lines;

static void count(void)
{
  lines++;
}

static void *reader(void *arg)
{
  FILE *f = popen("printf 'one\\ntwo\\n'", "r");
  char *line = NULL;
  size_t size = 0;
  assert(f);
  while (getline(&line, &size, f) > 0) {
    pthread_mutex_lock(&lock);
    count();
    pthread_mutex_unlock(&lock);
  }
  free(line);
  assert(pclose(f) == 0);
  return arg;
}

int main(void)
{
  both(reader, reader);
  assert(lines == 4);
  return 0;
}
