// Trees of libc that one thread changes and another looks something up in.
// expect: kind=data-race
// argv: find
// expect: kind=data-race
// argv: walk
// expect: clean
// argv: locked
// expect: clean
// argv: readers
#include "litmus.h"
#include <search.h>

MUTEX(lock);
static void *root;
static const char *how;
static int is(const char *what) { return !strcmp(how, what); }
static int order(const void *a, const void *b) { return strcmp(a, b); }
static void visit(const void *node, VISIT which, int depth) { (void)node, (void)which, (void)depth; }

static void *changes(void *arg)
{
  if (is("readers")) return tfind("a", &root, order) ? NULL : arg;
  pthread_mutex_lock(&lock);
  tsearch("b", &root, order);
  tdelete("b", &root, order);
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *looks(void *arg)
{
  if (is("locked")) pthread_mutex_lock(&lock);
  if (is("walk"))
    twalk(root, visit);
  else
    tfind("a", &root, order);
  if (is("locked")) pthread_mutex_unlock(&lock);
  return arg;
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  how = argv[1];
  tsearch("a", &root, order);
  both(changes, looks);
  return 0;
}
