// Cleanup handlers run on pthread_exit, innermost first, and on pop with an argument; not otherwise.
// opt: -O0 -O2
// restart: memory fork
// expect: clean executions=200
#include "litmus.h"

static char order[2][16];

static void note(void *arg)
{
  char *s = arg;
  strcat(order[*s - '0'], s + 1);
}

static void inner(const char *a, const char *b)
{
  pthread_cleanup_push(note, (void *)a);
  pthread_cleanup_push(note, (void *)b);
  pthread_exit((void *)7L);
  pthread_cleanup_pop(0);
  pthread_cleanup_pop(0);
}

static void *leaves(void *arg)
{
  pthread_cleanup_push(note, (void *)"0c");
  pthread_cleanup_push(note, (void *)"0x");
  pthread_cleanup_pop(0);
  pthread_cleanup_push(note, (void *)"0p");
  pthread_cleanup_pop(1);
  inner("0b", "0a");
  pthread_cleanup_pop(0);
  return arg;
}

static void *returns(void *arg)
{
  pthread_cleanup_push(note, (void *)"1q");
  pthread_cleanup_pop(1);
  return arg;
}

int main(void)
{
  void *result;
  pthread_t a = spawn(leaves, NULL), b = spawn(returns, NULL);
  assert(pthread_join(a, &result) == 0 && result == (void *)7L);
  assert(pthread_join(b, &result) == 0 && result == NULL);
  assert(strcmp(order[0], "pabc") == 0 && strcmp(order[1], "q") == 0);
  return 0;
}
