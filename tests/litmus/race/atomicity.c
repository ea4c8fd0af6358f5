// Every access is under the lock, but read and write are two critical sections: an update is lost.
// expect: kind=assertion
// where: function=main line=@sum
#include "litmus.h"

MUTEX(lock);
static int balance;

static int get(void)
{
  pthread_mutex_lock(&lock);
  int v = balance;
  pthread_mutex_unlock(&lock);
  return v;
}

static void set(int v)
{
  pthread_mutex_lock(&lock);
  balance = v;
  pthread_mutex_unlock(&lock);
}

static void *deposit(void *arg)
{
  set(get() + 10);
  return arg;
}

int main(void)
{
  both(deposit, deposit);
  assert(get() == 20); /* @sum */
  return 0;
}
