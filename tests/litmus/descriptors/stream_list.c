// fflush(NULL) goes through all streams, and fclose takes one off their list: right. While one thread has locked a stream
// and closes another one, that is a deadlock.
// expect: clean
// argv: close
// expect: clean
// argv: locked
// expect: kind=deadlock
// argv: both
#include "litmus.h"

static FILE *first, *second;
static int which;

static void *user(void *arg)
{
  if (which != 'c') flockfile(first);
  if (which == 'l') fputc('a', first);
  if (which != 'l') fclose(second);
  if (which != 'c') funlockfile(first);
  return arg;
}

int main(int argc, char **argv)
{
  which = argc > 1 ? argv[1][0] : 'c';
  first = fopen("/dev/null", "w");
  second = fopen("/dev/null", "w");
  fputc('x', first);
  fputc('x', second);
  pthread_t t = spawn(user, NULL);
  fflush(NULL);
  join(t);
  return 0;
}
