// expect: clean executions=100
// opt: -O0 -O2
/* longjmp out of nested calls in two threads, with locks and scheduling points in between, and out of a handler. */
#include <setjmp.h>
#include <signal.h>

#include "litmus.h"

MUTEX(m);
static _Thread_local jmp_buf back;
static _Thread_local sigjmp_buf out;

__attribute__((noinline)) static void down(int n)
{
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  if (n == 0) longjmp(back, 7);
  down(n - 1);
}

static void handler(int sig) { siglongjmp(out, sig); }

static void *worker(void *arg)
{
  volatile int rounds = 0;
  for (int i = 0; i < 3; i++) {
    int r = setjmp(back);
    if (r == 0) down(5);
    assert(r == 7);
    rounds++;
  }
  int sig = sigsetjmp(out, 1);
  if (sig == 0) raise(SIGUSR1);
  assert(rounds == 3 && sig == SIGUSR1);
  return arg;
}

int main(void)
{
  signal(SIGUSR1, handler);
  both(worker, worker);
  return 0;
}
