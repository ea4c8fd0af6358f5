// Data of one processor, chosen by sched_getcpu: to be on the same one keeps nobody out.
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
