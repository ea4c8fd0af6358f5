// A descriptor is closed twice, and another thread opens one in between: it gets the number, and loses it again. Right:
// it is closed once. Which number the other one gets is up to the schedule.
// expect: kind=assertion
// where: function=opener line=@write
// expect: exact executions=2
// argv: once
#include <fcntl.h>

#include "litmus.h"

static void *opener(void *arg)
{
  int fd = open("/dev/null", O_WRONLY);
  assert(write(fd, "x", 1) == 1); /* @write */
  return arg;
}

int main(int argc, char **argv)
{
  int fd = open("/dev/null", O_RDONLY);
  pthread_t t = spawn(opener, NULL);
  close(fd);
  if (argc < 2) close(fd);
  join(t);
  return argv[0] == NULL;
}
