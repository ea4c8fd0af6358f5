// expect: exact executions=2
/* stdio over a pipe: fgets waits, the stream's own lock is not a scheduling point. */
#include "litmus.h"

static int p[2];

static void *writer(void *arg)
{
  FILE *f = fdopen(p[1], "w");
  fprintf(f, "hello %d\n", 7);
  fclose(f);
  return arg;
}

static void *reader(void *arg)
{
  char line[40];
  FILE *f = fdopen(p[0], "r");
  assert(fgets(line, sizeof line, f) && strcmp(line, "hello 7\n") == 0);
  assert(!fgets(line, sizeof line, f) && feof(f));
  fclose(f);
  return arg;
}

int main(void)
{
  assert(pipe(p) == 0);
  both(writer, reader);
  return 0;
}
