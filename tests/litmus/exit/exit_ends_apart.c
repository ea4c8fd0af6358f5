// The first thread ends like any other. Who is last decides nothing, unless there are handlers to run.
// expect: exact executions=1
// expect: exact executions=5
// argv: handler
#include "litmus.h"

static void *worker(void *arg) { return arg; }

static void handler(void) {}

int main(int argc, char **argv)
{
  pthread_t t;
  (void)argv;
  if (argc > 1) atexit(handler);
  pthread_create(&t, NULL, worker, NULL);
  pthread_detach(t);
  pthread_create(&t, NULL, worker, NULL);
  pthread_detach(t);
  pthread_exit(NULL);
}
