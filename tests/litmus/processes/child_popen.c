// Two threads read lines from children at once. popen holds a lock of libc during a system call: the other thread
// waits for that lock, and no thread is stuck. (A finding here need not replay: how a child's output is split is not
// deterministic.)
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
