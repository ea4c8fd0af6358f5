// expect: kind=exit
// native: no
/* exec: the execution ends with the new program. */
#include "litmus.h"

static void *worker(void *arg)
{
  for (;;) sleep(1000);
  return arg;
}

int main(void)
{
  char *argv[] = {"sh", "-c", "exit 7", NULL};
  spawn(worker, NULL);
  execv("/bin/sh", argv);
  abort();
}
