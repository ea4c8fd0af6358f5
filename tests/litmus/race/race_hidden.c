// Only a schedule in which the second thread locks first shows the race.
// expect: kind=data-race
#include "litmus.h"

MUTEX(lock);
int value, seen;

static void *one(void *arg)
{
  value = 1;
  pthread_mutex_lock(&lock);
  seen++;
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *two(void *arg)
{
  pthread_mutex_lock(&lock);
  seen++;
  pthread_mutex_unlock(&lock);
  value = 2;
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
