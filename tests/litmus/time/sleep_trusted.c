// Every way to wait for a time, assuming that the other thread is then done: time orders nothing. Right: also waiting
// for the other thread.
// native: no
// expect: clean executions=100
// argv: join
// expect: kind=data-race
// argv: sleep
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: usleep
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: nanosleep
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: clock_nanosleep
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: thrd_sleep
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: cond_timedwait
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: cond_clockwait
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race
// argv: gettimeofday
// where: function=main line=@use
// compilers: gcc
// expect: kind=data-race|assertion
// argv: clock
// where: function=main line=@use
// compilers: gcc
#include "litmus.h"
#include <sys/time.h>
#include <threads.h>

MUTEX(lock);
COND(never);
static int data;

static void *worker(void *arg)
{
  data = 1;
  return arg;
}

static void pass(const char *how)
{
  struct timespec second = {1, 0}, at;
  struct timeval began, now;
  clock_gettime(CLOCK_REALTIME, &at);
  at.tv_sec++;
  if (!strcmp(how, "sleep")) sleep(1);
  if (!strcmp(how, "usleep")) usleep(1000000);
  if (!strcmp(how, "nanosleep")) nanosleep(&second, NULL);
  if (!strcmp(how, "clock_nanosleep")) clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
  if (!strcmp(how, "thrd_sleep")) thrd_sleep(&second, NULL);
  pthread_mutex_lock(&lock);
  if (!strcmp(how, "cond_timedwait")) assert(pthread_cond_timedwait(&never, &lock, &at) == ETIMEDOUT);
  if (!strcmp(how, "cond_clockwait")) assert(pthread_cond_clockwait(&never, &lock, CLOCK_REALTIME, &at) == ETIMEDOUT);
  pthread_mutex_unlock(&lock);
  clock_t ticks = clock();
  while (!strcmp(how, "clock") && clock() < ticks + 20) sched_yield();
  gettimeofday(&began, NULL);
  while (!strcmp(how, "gettimeofday") && gettimeofday(&now, NULL) == 0 && now.tv_sec == began.tv_sec) usleep(100000);
}

int main(int argc, char **argv)
{
  assert(argc == 2);
  int right = !strcmp(argv[1], "join");
  pthread_t t = spawn(worker, NULL);
  pass(argv[1]);
  if (right) join(t);
  assert(data == 1); /* @use */
  if (!right) join(t);
  return 0;
}
