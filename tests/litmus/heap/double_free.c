// Two threads free one block.
// restart: memory fork
// native: no
// expect: kind=double-free
// args: --ignore data-race
// where: function=worker line=@free role=at
// where: function=worker role=free
// where: function=main role=alloc
#include "litmus.h"

static void *worker(void *arg)
{
  free(arg); /* @free */
  return NULL;
}

int main(void)
{
  void *p = malloc(10);
  pthread_t a = spawn(worker, p), b = spawn(worker, p);
  join(a);
  join(b);
  return 0;
}
