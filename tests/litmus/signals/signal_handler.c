// A program that handles its own SIGSEGV and continues.
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static int caught;
int *nowhere;

static void handler(int sig)
{
  (void)sig;
  caught++;
  siglongjmp(back, 1);
}

static void *worker(void *arg) { return arg; }

int main(void)
{
  signal(SIGSEGV, handler);
  pthread_t t = spawn(worker, NULL);
  if (!sigsetjmp(back, 1)) *nowhere = 1;
  assert(caught == 1);
  join(t);
  return 0;
}
