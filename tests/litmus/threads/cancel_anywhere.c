// A thread of the asynchronous type is cancelled between any two of its writes, also where it waits for a lock; a thread of
// the deferred type is not.
// expect: kind=assertion
// argv: anywhere
// where: function=main
// expect: exact executions=3
// argv: deferred
// expect: exact executions=4
// argv: off
// expect: exact executions=3
// argv: lock
#include "litmus.h"

MUTEX(lock);
static const char *what;
static int a, b;

static int is(const char *name) { return !strcmp(what, name); }

static void *worker(void *arg)
{
  if (!is("deferred")) pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  if (is("off")) pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
  if (is("lock")) {
    pthread_mutex_lock(&lock);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    pthread_mutex_unlock(&lock);
  } else {
    a = 1;
    b = 1;
  }
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "anywhere";
  if (is("lock")) pthread_mutex_lock(&lock);
  pthread_t t = spawn(worker, NULL);
  pthread_cancel(t);
  pthread_join(t, NULL);
  if (is("lock")) pthread_mutex_unlock(&lock);
  assert(a == b);
  return 0;
}
