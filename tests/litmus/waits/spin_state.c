// A thread waits in a loop around getcwd for another one to change the directory.
// compilers: gcc
// expect: exact executions=3
#include "litmus.h"

static void *set(void *arg)
{
  if (chdir("/tmp")) abort();
  return arg;
}

int main(void)
{
  char path[256];
  if (chdir("/")) abort();
  pthread_t t = spawn(set, NULL);
  while (!getcwd(path, sizeof path) || strcmp(path, "/tmp")) {}
  join(t);
  return 0;
}
