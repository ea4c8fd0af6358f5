// A thread that has allocated any number of blocks beside others: which addresses an ordinary heap could have used again is
// known exactly, for those before and those after the block that another thread frees.
// expect: exact executions=2
// argv: before
// expect: exact executions=2
// argv: after
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MANY 1500
static _Atomic(void *) top;
void *block[2 * MANY]; /* not static: the compiler would know that nobody looks */
static int after;

static void *allocate(void *p)
{
  for (int i = 0; i < MANY; i++) block[i] = malloc(32);
  top = malloc(32);
  for (int i = 0; i < after; i++) block[MANY + i] = malloc(32);
  return p;
}

static void *release(void *p)
{
  free(atomic_exchange(&top, 0));
  return p;
}

int main(int argc, char **argv)
{
  (void)argc;
  if (argv[1] && !strcmp(argv[1], "after")) after = MANY;
  pthread_t t[2];
  pthread_create(&t[0], 0, allocate, 0);
  pthread_create(&t[1], 0, release, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  return 0;
}
