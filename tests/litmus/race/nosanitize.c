// Functions that ask the compiler for no instrumentation: what they do is explored, and their races are not reported.
// native: no
// opt: -O0 -O2
// expect: kind=assertion
// argv: lost
// expect: kind=assertion
// argv: copy
// expect: kind=assertion
// argv: block
// expect: kind=assertion
// argv: atomic
// expect: kind=assertion
// argv: assembly
// expect: exact executions=4
// argv: counted
// expect: exact executions=2
// argv: locked
// expect: kind=data-race
// argv: callee
#include "litmus.h"

#define QUIET __attribute__((no_sanitize("thread"), noinline))

struct block { long a[6]; };

static int x;
static struct block from = {{1, 2, 3, 4, 5, 6}}, to;
MUTEX(lock);
static int (*check)(void);

static __attribute__((noinline)) void loud(int *p) { *p = *p + 1; }

QUIET static void add(int *p) { *p = *p + 1; }
QUIET static void copy(struct block *t, const struct block *f) { *t = *f; }
QUIET static void block(struct block *t, const struct block *f, size_t n) { memcpy(t, f, n); }
QUIET static long last(const struct block *t) { return t->a[5]; }
QUIET static void atomic(int *p) { __atomic_store_n(p, __atomic_load_n(p, 5) + 1, 5); }
QUIET static void assembly(int *p)
{
  int v;
  __asm__ volatile("movl %1, %0" : "=r"(v) : "m"(*p));
  __asm__ volatile("movl %1, %0" : "=m"(*p) : "r"(v + 1));
}
QUIET static void callee(int *p) { loud(p); }

static void *do_add(void *arg) { return add(&x), arg; }
static void *do_copy(void *arg) { return copy(&to, &from), arg; }
static void *do_block(void *arg) { return block(&to, &from, sizeof to), arg; }
static void *do_look(void *arg)
{
  assert(last(&to) == 0);
  return arg;
}
static void *do_atomic(void *arg) { return atomic(&x), arg; }
static void *do_assembly(void *arg) { return assembly(&x), arg; }
static void *do_callee(void *arg) { return callee(&x), arg; }
static void *do_locked(void *arg)
{
  pthread_mutex_lock(&lock);
  add(&x);
  pthread_mutex_unlock(&lock);
  return arg;
}

static int twice(void) { return x == 2; }
static int once(void) { return x == 1 || x == 2; }

int main(int argc, char **argv)
{
  const char *how = argv[argc - 1];
  check = strcmp(how, "counted") == 0 || strcmp(how, "callee") == 0 ? once : twice;
  if (strcmp(how, "copy") == 0) return both(do_copy, do_look), 0;
  if (strcmp(how, "block") == 0) return both(do_block, do_look), 0;
  thread_fn f = strcmp(how, "atomic") == 0     ? do_atomic
                : strcmp(how, "assembly") == 0 ? do_assembly
                : strcmp(how, "locked") == 0   ? do_locked
                : strcmp(how, "callee") == 0   ? do_callee
                                               : do_add;
  both(f, f);
  assert(check());
  return 0;
}
