// A handler for crashes crashes, raises the signal again, or aborts: what is reported is the first crash.
// expect: kind=crash
// argv: crash
// where: function=work line=@first
// native: no
// expect: kind=crash
// argv: raise
// where: function=work line=@first
// native: no
// expect: kind=crash
// argv: abort
// where: function=work line=@first
// native: no
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static int *volatile nowhere;
static char how;

static void handler(int sig) {
  if (how == 'c') *nowhere = 2;
  if (how == 'a') abort();
  signal(sig, SIG_DFL);
  raise(sig);
}

static void *work(void *arg) {
  *nowhere = 1; /* @first */
  return arg;
}

int main(int argc, char **argv) {
  pthread_t t;
  how = argc > 1 ? argv[1][0] : 'r';
  signal(SIGSEGV, handler);
  pthread_create(&t, NULL, work, NULL);
  pthread_join(t, NULL);
  return 0;
}
