// No schedule needed: main itself crashes while a thread exists.
// expect: kind=crash
// where: function=main thread=T0 line=@use
#include "litmus.h"

static void *worker(void *arg) { return arg; }

int *nowhere;

int main(void)
{
  pthread_t t = spawn(worker, NULL);
  *nowhere = 1; /* @use */
  join(t);
  return 0;
}
