// Per-processor data, selected by sched_getcpu: running on the same processor does not exclude other threads.
// expect: clean executions=100
// native: no
// expect: kind=data-race
// argv: plain
// where: function=worker line=@add
#include "litmus.h"

static struct {
  pthread_mutex_t lock;
  int n;
} of[1] = {{PTHREAD_MUTEX_INITIALIZER, 0}};
static int plain;

static void *worker(void *arg)
{
  int cpu = sched_getcpu();
  assert(cpu == 0); /* the same for all, in a controlled run */
  if (!plain) pthread_mutex_lock(&of[cpu].lock);
  of[cpu].n++; /* @add */
  if (!plain) pthread_mutex_unlock(&of[cpu].lock);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  plain = argc > 1;
  both(worker, worker);
  assert(of[0].n == 2);
  return 0;
}
