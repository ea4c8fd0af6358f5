// What functions on the system's clock read and write for their caller.
// native: no
// expect: kind=data-race
// argv: adjtimex
// expect: kind=data-race
// argv: clock
#include <sys/timex.h>

#include "litmus.h"

static struct timex t;

static void *change(void *arg)
{
  t.modes = 0;
  return arg;
}

int main(int argc, char **argv)
{
  (void)argc;
  pthread_t other = spawn(change, NULL);
  if (!strcmp(argv[1], "adjtimex"))
    adjtimex(&t);
  else
    clock_adjtime(CLOCK_REALTIME, &t);
  join(other);
  return 0;
}
