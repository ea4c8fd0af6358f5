// Hours of sleep take no real time, and the clocks advance.
// native: no
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"

static void *worker(void *arg)
{
  struct timespec a, b, d = {3600, 500};
  clock_gettime(CLOCK_MONOTONIC, &a);
  sleep(7200);
  nanosleep(&d, NULL);
  usleep(500000);
  clock_nanosleep(CLOCK_MONOTONIC, 0, &d, NULL);
  clock_gettime(CLOCK_MONOTONIC, &b);
  assert(b.tv_sec - a.tv_sec >= 14400);
  return arg;
}

int main(void)
{
  time_t t = time(NULL);
  both(worker, worker);
  assert(time(NULL) - t >= 14400);
  return 0;
}
