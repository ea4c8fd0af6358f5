// fflush(NULL) takes the lock of every stream, also of one that nobody has used yet.
// expect: kind=deadlock
// argv: lock
// expect: clean
#include "litmus.h"

static FILE *f;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *user(void *arg)
{
  flockfile(f);
  pthread_mutex_lock(&m);
  pthread_mutex_unlock(&m);
  funlockfile(f);
  return arg;
}

int main(int argc, char **argv)
{
  (void)argv;
  f = tmpfile();
  pthread_t t = spawn(user, NULL);
  if (argc > 1) pthread_mutex_lock(&m);
  fflush(NULL);
  if (argc > 1) pthread_mutex_unlock(&m);
  join(t);
  return 0;
}
