// The lock of a stream is not a scheduling point, but a thread that is switched while holding it excludes others.
// Wrong: the result of trying to take it is ignored; a mutex and the stream are taken in the opposite order.
// expect: clean executions=100
// expect: kind=data-race
// argv: try
// where: function=count line=@count
// expect: kind=deadlock|lost-wakeup
// argv: order
// where: function=other line=@flock
#include "litmus.h"

MUTEX(lock);
static FILE *stream;
static int counted, careless, other_order;

static void count(void)
{
  counted++; /* @count */
}

static void *holder(void *arg)
{
  flockfile(stream);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  count();
  funlockfile(stream);
  return arg;
}

static void *other(void *arg)
{
  pthread_mutex_lock(&lock);
  if (other_order) {
    flockfile(stream); /* @flock */
    funlockfile(stream);
  }
  pthread_mutex_unlock(&lock);
  int failed = ftrylockfile(stream);
  if (!failed || careless) count();
  if (!failed) funlockfile(stream);
  return arg;
}

int main(int argc, char **argv)
{
  careless = argc > 1 && argv[1][0] == 't';
  other_order = argc > 1 && argv[1][0] == 'o';
  stream = fopen("/dev/null", "w");
  both(holder, other);
  assert(counted >= 1);
  fclose(stream);
  return 0;
}
