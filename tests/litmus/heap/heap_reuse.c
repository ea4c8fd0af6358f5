// The address of a freed block comes back from malloc: a pointer compares equal to one that was read before (ABA).
// native: no
// expect: kind=assertion
// argv: aba
// expect: exact executions=12
// argv: versions
// expect: exact executions=2
// argv: locked
#include "litmus.h"
#include <stdatomic.h>

static _Atomic uintptr_t top;
static atomic_int version;
static int *plain;
MUTEX(lock);

/* Replaces the block. */
static void *replace(void *arg)
{
  uintptr_t old = atomic_exchange(&top, 0);
  free((void *)old);
  version++;
  top = (uintptr_t)malloc(32);
  return arg;
}

static void *aba(void *arg)
{
  int before = version;
  uintptr_t seen = top;
  if (!seen) return arg;
  int after = version;
  if (top == seen && before == 0) assert(after == 0);
  return arg;
}

/* The same with a version in place of an address. */
static void *versions(void *arg)
{
  int before = version;
  uintptr_t seen = top;
  if (seen && before == version) assert(before == 0 || before == 1);
  return arg;
}

static void *locked(void *arg)
{
  pthread_mutex_lock(&lock);
  free(plain);
  plain = malloc(32);
  *plain = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  const char *how = argv[argc - 1];
  top = (uintptr_t)malloc(32);
  plain = malloc(32);
  if (strcmp(how, "locked") == 0)
    both(locked, locked);
  else
    both(replace, strcmp(how, "aba") == 0 ? aba : versions);
  return 0;
}
