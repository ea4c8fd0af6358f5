// A timer that calls a function in a new thread: it is ordered with nothing but what it waits for.
// expect: kind=data-race
#include <semaphore.h>
#include <signal.h>

#include "litmus.h"

static sem_t expired;
static int count;

static void expire(union sigval v)
{
  count += v.sival_int;
  sem_post(&expired);
}

int main(void)
{
  struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expire, .sigev_value.sival_int = 3};
  struct itimerspec in = {{0, 0}, {0, 1000000}};
  timer_t t;
  sem_init(&expired, 0, 0);
  if (timer_create(CLOCK_MONOTONIC, &e, &t)) abort();
  timer_settime(t, 0, &in, NULL);
  count++;
  sem_wait(&expired);
  timer_delete(t);
  return 0;
}
