// What is read in one direction of a connection says nothing about what was written in the other one.
// expect: kind=data-race
// argv: other
// expect: clean executions=1
// argv: same
// args: --strategy optimal
#include <sys/socket.h>

#include "litmus.h"

static int ends[2];
int data;

static void *writer(void *arg)
{
  data = 1;
  if (write(ends[0], "x", 1) != 1) abort();
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  if (argc < 2 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) abort();
  pthread_t t = spawn(writer, NULL);
  if (argv[1][0] == 'o') {
    if (write(ends[1], "y", 1) != 1 || read(ends[0], &c, 1) != 1) abort();
  } else if (read(ends[1], &c, 1) != 1) {
    abort();
  }
  data = 2;
  join(t);
  return data == 7;
}
