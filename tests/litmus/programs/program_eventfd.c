// A loop around an eventfd: producers queue work and add to the counter; when woken, the loop takes all there is.
// Wrong: it takes one piece per wake-up, although one wake-up may stand for many.
// expect: exact executions=10
// expect: kind=deadlock
// argv: one
// where: function=main line=@wait
#include "litmus.h"
#include <sys/eventfd.h>

enum { WORK = 2 };

MUTEX(lock);
static int wake, queued;

static void *give(void *arg)
{
  uint64_t one = 1;
  pthread_mutex_lock(&lock);
  queued++;
  pthread_mutex_unlock(&lock);
  assert(write(wake, &one, sizeof one) == sizeof one);
  return arg;
}

int main(int argc, char **argv)
{
  pthread_t t[WORK];
  int done = 0;
  (void)argv;
  wake = eventfd(0, 0);
  for (int i = 0; i < WORK; i++) t[i] = spawn(give, NULL);
  while (done < WORK) {
    uint64_t n;
    assert(read(wake, &n, sizeof n) == sizeof n); /* @wait */
    pthread_mutex_lock(&lock);
    int take = argc > 1 && queued > 1 ? 1 : queued;
    queued -= take;
    pthread_mutex_unlock(&lock);
    done += take;
  }
  for (int i = 0; i < WORK; i++) join(t[i]);
  return 0;
}
