// A page of a file that was truncated.
// restart: memory fork
// expect: kind=crash
// where: function=user line=@use
// says: SIGBUS
#include "litmus.h"
#include <sys/mman.h>

static char *map;
static int cut;

static void *cutter(void *arg)
{
  poke(&cut, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&cut)) *map = 1; /* @use */
  return arg;
}

int main(void)
{
  FILE *f = tmpfile();
  map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);
  assert(map != MAP_FAILED);
  both(cutter, user);
  munmap(map, 4096);
  fclose(f);
  return 0;
}
