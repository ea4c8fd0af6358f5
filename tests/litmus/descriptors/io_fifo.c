// Opening one side of a FIFO waits for the other. Wrong: two FIFOs are opened in two orders.
// expect: clean
// native: no
// expect: kind=deadlock
// argv: order
#include <fcntl.h>
#include <sys/stat.h>

#include "litmus.h"

static int order;

static void *writer(void *arg)
{
  int one = open("one", O_WRONLY), two = open("two", O_RDONLY);
  assert(write(one, "x", 1) == 1 && close(one) == 0 && close(two) == 0);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  order = argc > 1;
  assert(mkfifo("one", 0600) == 0 && mkfifo("two", 0600) == 0);
  pthread_t t = spawn(writer, NULL);
  int one = order ? -1 : open("one", O_RDONLY), two = open("two", O_WRONLY);
  if (order) one = open("one", O_RDONLY);
  assert(read(one, &c, 1) == 1 && read(one, &c, 1) == 0 && close(two) == 0);
  join(t);
  return argv[0] == NULL;
}
