// libc's random numbers have a lock, but the order of the calls decides who gets which number.
// expect: kind=assertion
// argv: order
// expect: exact executions=2
// argv: any
#include <langinfo.h>
#include <locale.h>

#include "litmus.h"

static char state[64];
static long got;

static void *other(void *how)
{
  got = !strcmp(how, "order") ? rand() : random();
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  initstate(1, state, sizeof state);
  setstate(state);
  setlocale(LC_ALL, "C");
  assert(nl_langinfo(CODESET));
  srand(7);
  long first = rand(), mine;
  srandom(7);
  pthread_t t = spawn(other, argv[1]);
  mine = rand();
  join(t);
  assert(strcmp(argv[1], "order") || mine == first);
  return 0;
}
