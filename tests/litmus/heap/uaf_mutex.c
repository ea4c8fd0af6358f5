// A mutex in memory that was freed.
// native: no
// expect: kind=use-after-free
// where: function=worker line=@lock
#include "litmus.h"

static void *worker(void *arg)
{
  pthread_mutex_lock(arg); /* @lock */
  pthread_mutex_unlock(arg);
  return NULL;
}

int main(void)
{
  pthread_mutex_t *m = malloc(sizeof *m);
  pthread_mutex_init(m, NULL);
  free(m);
  join(spawn(worker, m));
  return 0;
}
