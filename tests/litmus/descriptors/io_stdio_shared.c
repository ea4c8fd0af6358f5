// expect: exact executions=1
/* Two threads print to one stream: locked per stream as in libc, no race, no schedule. */
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
