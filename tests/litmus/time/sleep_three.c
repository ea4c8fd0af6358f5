// Three threads sleep for an hour each, in parallel: the search is complete, the clocks advance by one hour, and no
// real time passes. Wrong: assuming that an hour is long enough for the others.
// native: no
// restart: memory fork
// expect: exact executions=1 dfs=no
// expect: kind=data-race
// argv: trust
// where: function=sleeper line=@trust
#include "litmus.h"

static int ready, trust;

static void *sleeper(void *arg)
{
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  assert(sleep(3600) == 0);
  clock_gettime(CLOCK_MONOTONIC, &after);
  assert(after.tv_sec - before.tv_sec >= 3600);
  if (trust) ready++; /* @trust */
  return arg;
}

int main(int argc, char **argv)
{
  time_t began = time(NULL);
  (void)argv;
  trust = argc > 1;
  pthread_t a = spawn(sleeper, NULL), b = spawn(sleeper, NULL), c = spawn(sleeper, NULL);
  join(a);
  join(b);
  join(c);
  time_t took = time(NULL) - began;
  assert(took >= 3600 && took < 3700);
  return 0;
}
