// Standard I/O: buffers, positions and open files are restored, and nothing leaks from one execution into the next.
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"

static void *worker(void *arg)
{
  printf("not flushed");
  return arg;
}

int main(void)
{
  char line[64];
  FILE *f = fopen("/proc/self/comm", "r");
  assert(f && fgets(line, sizeof line, f) && strcmp(line, "prog\n") == 0);
  assert(fgets(line, sizeof line, f) == NULL && feof(f));
  assert(!feof(stdin) && !ferror(stdin));
  assert(getchar() == EOF); /* /dev/null */
  join(spawn(worker, NULL));
  fclose(f);
  f = fopen("/dev/null", "w"); /* left open on purpose */
  fprintf(f, "hello");
  assert(setvbuf(stderr, NULL, _IOFBF, 100) == 0);
  ungetc('x', stdin);
  return 0;
}
