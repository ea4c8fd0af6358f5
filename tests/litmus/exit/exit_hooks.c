// Exit handlers run in the thread that calls exit, while other threads may still work. Right: all are joined first.
// Wrong: the handler reads what another thread writes.
// expect: clean executions=100
// argv: right
// expect: kind=data-race
// argv: exit
// where: function=summary line=@sum
// expect: kind=data-race
// argv: on_exit
// where: function=summary line=@sum
// expect: kind=data-race
// argv: quick_exit
// where: function=summary line=@sum
// expect: kind=exit
// argv: _Exit
#include "litmus.h"

int total; /* not static: a compiler that knows all its values would not look at it */

static void summary(void) { assert(total <= 1); /* @sum */ }

static void summary_of(int status, void *arg)
{
  (void)status;
  (void)arg;
  summary();
}

static void *worker(void *arg)
{
  total = 1;
  return arg;
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  const char *how = argv[1];
  if (!strcmp(how, "on_exit"))
    on_exit(summary_of, NULL);
  else
    atexit(summary);
  at_quick_exit(summary);
  pthread_t t = spawn(worker, NULL);
  if (!strcmp(how, "right")) join(t);
  if (!strcmp(how, "_Exit")) _Exit(4);
  if (!strcmp(how, "quick_exit")) quick_exit(0);
  exit(0);
}
