// A mapping of the program that is unmapped before it is used.
// restart: memory fork
// expect: kind=crash
// where: function=user line=@use
// says: SIGSEGV
#include "litmus.h"
#include <sys/mman.h>

static char *map;
static int gone;

static void *remover(void *arg)
{
  munmap(map, 4096);
  poke(&gone, 1);
  return arg;
}

static void *user(void *arg)
{
  if (peek(&gone)) *(volatile char *)map = 1; /* @use */
  return arg;
}

int main(void)
{
  map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  both(remover, user);
  return 0;
}
