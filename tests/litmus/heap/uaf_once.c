// A once-control in memory that was freed.
// native: no
// expect: kind=use-after-free
// where: function=worker line=@once
#include "litmus.h"

static void nothing(void) {}

static void *worker(void *arg)
{
  pthread_once(arg, nothing); /* @once */
  return NULL;
}

int main(void)
{
  pthread_once_t *once = calloc(1, sizeof *once);
  free(once);
  join(spawn(worker, once));
  return 0;
}
