// An allocation counts as a write to its block: an access through a pointer that was published without order races with it.
// native: no
// expect: kind=data-race
// argv: zeroed
// expect: kind=data-race
// argv: plain
// expect: kind=data-race
// argv: moved
// expect: exact executions=2
// argv: ordered
// expect: exact executions=1
// argv: early
#include "litmus.h"

static int *published;
static const char *how;

static int is(const char *s) { return strcmp(how, s) == 0; }

static void *make(void *arg)
{
  int *p = is("plain") ? malloc(64) : calloc(1, 64);
  if (is("moved")) p = realloc(p, 128);
  __atomic_store_n(&published, p, is("ordered") ? __ATOMIC_RELEASE : __ATOMIC_RELAXED);
  return arg;
}

static void *use(void *arg)
{
  int *p = __atomic_load_n(&published, is("ordered") ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED);
  if (p) p[3] = 1;
  return arg;
}

static void *read_it(void *arg)
{
  assert(published[3] == 0);
  return arg;
}

int main(int argc, char **argv)
{
  how = argv[argc - 1];
  if (!is("early")) return both(make, use), 0;
  published = calloc(1, 64);
  both(read_it, read_it);
  return 0;
}
