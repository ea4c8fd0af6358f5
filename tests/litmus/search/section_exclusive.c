// Within an atomic section no other thread runs; without it the two halves can be separated. The first case is not run
// in fork mode: dfs runs thousands of executions of it, and the second case has both modes.
// restart: memory fork
// expect: exact executions=6 states=1
// restart: memory
// argv: 2
// expect: exact executions=36 states=3 kinds=data-race dfs=no
// argv: 0
#include "heddle.h"
#include "litmus.h"

void hd_rt_observe(uint64_t value);
static int x, sections;

static void *worker(void *arg)
{
  if (sections) hd_atomic_begin();
  int seen = x;
  hd_atomic_begin(); /* nested, or around the store alone */
  x = seen + 1;
  hd_atomic_end();
  if (sections) hd_atomic_end();
  return arg;
}

int main(int argc, char **argv)
{
  sections = argv[1][0] == '2';
  pthread_t t[3];
  for (int i = 0; i < 3; i++) t[i] = spawn(worker, NULL);
  for (int i = 0; i < 3; i++) join(t[i]);
  hd_rt_observe((uint64_t)x);
  return 0;
}
