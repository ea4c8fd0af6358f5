// expect: exact executions=2
/* Two threads hold the lock of one stream for a while, in two orders. What they print besides has no order. */
#include "litmus.h"

static FILE *out;

static void *printer(void *arg)
{
  flockfile(out);
  fprintf(out, "one %s ", (char *)arg);
  putc_unlocked('\n', out);
  funlockfile(out);
  printf("%s\n", (char *)arg);
  return NULL;
}

int main(void)
{
  out = fopen("/dev/null", "w");
  pthread_t a = spawn(printer, "a"), b = spawn(printer, "b");
  join(a);
  join(b);
  fclose(out);
  return 0;
}
