// Two threads read lines from children at once. popen takes a lock of libc's and makes a system call under it: the
// other thread waits for that lock, and nobody is stuck. Wrong: the lines are counted without a lock.
// restart: memory fork
// expect: clean executions=40
// args: --strategy random
// expect: kind=data-race
// argv: unlocked
// where: function=count line=@count
#include "litmus.h"

MUTEX(lock);
static int lines, unlocked;

static void count(void)
{
  lines++; /* @count */
}

static void *reader(void *arg)
{
  FILE *f = popen("printf 'one\\ntwo\\n'", "r");
  char *line = NULL;
  size_t size = 0;
  assert(f);
  while (getline(&line, &size, f) > 0) {
    if (!unlocked) pthread_mutex_lock(&lock);
    count();
    if (!unlocked) pthread_mutex_unlock(&lock);
  }
  free(line);
  assert(pclose(f) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  unlocked = argc > 1;
  both(reader, reader);
  assert(lines == 4);
  return 0;
}
