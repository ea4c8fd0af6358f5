// The lock of a stream: what it protects is seen in both orders; two streams in two orders are a deadlock; a stream is
// closed while another thread prints to it; a loop of attempts to lock it ends.
// expect: kind=assertion
// argv: order
// expect: kind=deadlock
// argv: two
// expect: kind=use-after-free
// argv: close
// expect: clean
// argv: try
// expect: kind=assertion
// argv: memory
// expect: kind=assertion
// argv: read
// expect: exact executions=1
// argv: print
#include <semaphore.h>
#include <stdlib.h>

#include "litmus.h"

static FILE *one, *two;
static int x;
static char how;
static sem_t held;

static void *other(void *arg)
{
  switch (how) {
    case 'o':
      flockfile(one);
      x = 1;
      funlockfile(one);
      break;
    case 't': /* two, or try */
      if (two) {
        flockfile(two);
        fputs("x", one);
        funlockfile(two);
      } else {
        flockfile(one);
        sem_post(&held);
        sched_yield();
        funlockfile(one);
      }
      break;
    case 'c': fclose(one); break;
    default: fprintf(one, "other %d", x);
  }
  return arg;
}

int main(int argc, char **argv)
{
  char *text = NULL;
  size_t size;
  int found = 0;
  how = argc > 1 ? argv[1][0] : 0;
  one = how == 'm' ? open_memstream(&text, &size) : how == 'r' ? fopen("text", "w") : how == 'p' ? stdout : fopen("/dev/null", "w");
  if (how == 't' && argv[1][1] == 'w') two = fopen("/dev/null", "w");
  sem_init(&held, 0, 0);
  pthread_t t = spawn(other, NULL);
  switch (how) {
    case 'o':
      flockfile(one);
      found = x;
      funlockfile(one);
      break;
    case 't':
      if (two) {
        flockfile(one);
        fputs("x", two);
        funlockfile(one);
      } else {
        sem_wait(&held);
        while (ftrylockfile(one)) {}
        funlockfile(one);
      }
      break;
    default: fprintf(one, "main %d", x);
  }
  join(t);
  if (how == 'm' || how == 'r') fclose(one);
  if (how == 'r') {
    FILE *in = fopen("text", "r");
    found = getc(in) != 'm';
    fclose(in);
  }
  if (text) found = text[0] != 'm';
  assert(!found);
  return 0;
}
