// The first thread ends before the others: their ends are in no order, joinable or detached.
// expect: exact executions=1
// argv: joinable 2
// expect: exact executions=1 dfs=no
// argv: joinable 4
// expect: exact executions=1
// argv: detached 2
#include "litmus.h"

static void *nothing(void *arg) { return arg; }

int main(int argc, char **argv)
{
  int n = argc > 2 ? atoi(argv[2]) : 2;
  pthread_attr_t attr;
  pthread_t t;
  pthread_attr_init(&attr);
  if (argc > 1 && argv[1][0] == 'd') pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  for (int i = 0; i < n; i++) pthread_create(&t, &attr, nothing, NULL);
  pthread_exit(NULL);
}
