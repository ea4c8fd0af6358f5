// The address of a block depends on what its thread did, not on the schedule: two threads that do the same get the
// same addresses, one arena apart.
// expect: clean executions=300
// args: --restart=memory
#include "litmus.h"
#include <heddle.h>

static void *address[2][4];

static void *worker(void *arg)
{
  long me = (long)arg;
  for (int i = 0; i < 4; i++) address[me][i] = malloc(24 + 8 * i);
  sched_yield();
  for (int i = 0; i < 4; i++) free(address[me][i]);
  return NULL;
}

static uintptr_t distance(int i) { return (uintptr_t)address[1][i] - (uintptr_t)address[0][i]; }

int main(void)
{
  pthread_t a = spawn(worker, (void *)0L), b = spawn(worker, (void *)1L);
  join(a);
  join(b);
  if (hd_controlled()) /* the distance of the two threads' arenas */
    for (int i = 1; i < 4; i++) assert(distance(i) == distance(0));
  return 0;
}
