// A thread that can be cancelled anywhere and cancels itself leaves its lock held; one that allows it only at
// cancellation points finishes the section first.
// expect: clean executions=200
// expect: kind=deadlock
// argv: anywhere
// where: function=main line=@lock
#include "litmus.h"

MUTEX(lock);
static int done;

static void *worker(void *arg)
{
  int old, type = arg ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
  assert(pthread_setcanceltype(type, &old) == 0 && old == PTHREAD_CANCEL_DEFERRED);
  pthread_mutex_lock(&lock);
  pthread_cancel(pthread_self());
  done++;
  pthread_mutex_unlock(&lock);
  pthread_testcancel();
  done = -1;
  return NULL;
}

int main(int argc, char **argv)
{
  join(spawn(worker, argc > 1 ? argv[1] : NULL));
  pthread_mutex_lock(&lock); /* @lock */
  assert(done == 1);
  pthread_mutex_unlock(&lock);
  return 0;
}
