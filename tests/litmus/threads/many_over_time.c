// Five thousand threads, one after the other and in groups; and three hundred at once.
// restart: memory fork
// compilers: gcc
// expect: clean executions=3
// args: --strategy random
// expect: clean executions=1
// args: --strategy optimal
// argv: one
// expect: kind=assertion
// args: --strategy random
// argv: bug
// where: function=last line=@bug
#include "litmus.h"

static int count;
static __thread int fresh;

static void *one(void *arg)
{
  assert(fresh++ == 0);
  __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
  return arg;
}

static void *last(void *arg)
{
  assert(fresh == 0 && arg == NULL); /* @bug */
  return arg;
}

int main(int argc, char **argv)
{
  static pthread_t t[300];
  int single = argc > 1 && argv[1][0] == 'o', n = single ? 3000 : 5000;
  for (int i = 0; i < n; i++) join(spawn(one, NULL));
  for (int i = 0; i < 300 && !single; i++) t[i] = spawn(one, NULL);
  for (int i = 0; i < 300 && !single; i++) join(t[i]);
  assert(count == n + (single ? 0 : 300));
  if (argc > 1 && argv[1][0] == 'b') join(spawn(last, &count));
  return 0;
}
