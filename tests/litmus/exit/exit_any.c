// expect: clean executions=200
// native: no
// restart: memory fork
/* exit in any thread runs the handlers, last one first, on that thread, while the others still run. */
#include "litmus.h"

static int order;
static pthread_t who;
static void last(void) { assert(order == 2 && pthread_equal(pthread_self(), who)); }
static void middle(void) { assert(order++ == 1); }
static void first(void) { assert(order++ == 0); }
__attribute__((constructor)) static void before(void) { order = 0; }
__attribute__((destructor)) static void after(void) { assert(order == 2); }

static void *leaver(void *arg)
{
  who = pthread_self();
  atexit(first);
  exit(0);
  return arg;
}

static void *other(void *arg)
{
  for (;;) sched_yield();
  return arg;
}

int main(void)
{
  atexit(last);
  atexit(middle);
  spawn(leaver, NULL);
  pthread_exit(NULL);
}
