// Moving the break and changing the protection of memory, beside a thread that looks at either: both orders are explored.
// native: no
// expect: kind=assertion
// argv: sbrk
// expect: kind=data-race|crash
// argv: brk
// expect: kind=crash
// argv: mprotect
// expect: exact executions=1
// argv: right
#define _DEFAULT_SOURCE
#include "litmus.h"
#include <sys/mman.h>

static const char *how;
static char *before, *page;

static int is(const char *s) { return strcmp(how, s) == 0; }

static void *change(void *arg)
{
  if (is("sbrk")) sbrk(4096);
  if (is("brk")) brk(before);
  if (is("mprotect")) mprotect(page, 4096, PROT_NONE);
  return arg;
}

int main(int argc, char **argv)
{
  how = argc > 1 ? argv[argc - 1] : "right";
  before = sbrk(0);
  if (is("brk")) *(volatile char *)sbrk(8192) = 1;
  page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t = spawn(change, NULL);
  if (is("sbrk")) assert(sbrk(0) == before);
  if (is("brk")) assert(*(volatile char *)before == 1);
  if (is("mprotect")) assert(*(volatile char *)page == 0);
  join(t);
  if (!is("right")) return 0;
  mprotect(page + 4096, 4096, PROT_READ);
  assert(sbrk(4096) == before && brk(before) == 0);
  return 0;
}
