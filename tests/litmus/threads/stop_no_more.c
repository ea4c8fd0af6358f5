// A failed thread leaves others waiting, memory leaked and a bad status: none of these is a finding.
// restart: memory fork
// args: --leaks --thread-leaks
// expect: exact executions=1 kinds=assertion
// argv: wait
// expect: exact executions=1 kinds=assertion
// argv: spin
// expect: exact executions=3 kinds=assertion,exit,leak,thread-leak
// argv: leave
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int go;
static char *volatile lost;

static void *fails(void *arg)
{
  pthread_mutex_lock(&lock);
  assert(arg != NULL);
  poke(&go, 1);
  pthread_cond_signal(&cond);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  char how = argv[1][0];
  pthread_t t = spawn(fails, NULL);
  if (how == 'w') join(t);
  if (how == 's')
    while (!peek(&go)) sched_yield();
  lost = malloc(100);
  lost = NULL;
  return 3;
}
