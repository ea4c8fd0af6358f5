// A thread writes to a number that main has closed, and given to another pipe in the meantime. Right: main waits for it.
// expect: kind=assertion
// where: function=main line=@read
// expect: exact executions=1
// argv: wait
#include "litmus.h"

static int first[2], second[2];

static void *writer(void *arg)
{
  if (write(first[1], "x", 1) != 1) return NULL;
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  pipe(first);
  pipe(second);
  pthread_t t = spawn(writer, NULL);
  if (argc > 1) join(t);
  close(first[1]);
  int copy = dup(second[1]);
  if (argc == 1) join(t);
  close(second[1]);
  close(copy);
  assert(read(second[0], &c, 1) == 0); /* @read */
  return argv[0] == NULL;
}
