// A wait that is not repeated until its condition holds: what a thread stores between two waits is its own, and still tells
// a wake-up without a signal from none.
// opt: -O0 -O2
// expect: kind=assertion
#include "litmus.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int flag, rounds;

static void *waiter(void *arg)
{
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&m);
    if (!flag) pthread_cond_wait(&changed, &m);
    rounds = i + 1;
    assert(flag);
    pthread_mutex_unlock(&m);
  }
  return arg;
}

static void *setter(void *arg)
{
  pthread_mutex_lock(&m);
  flag = 1;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&m);
  return arg;
}

int main(void)
{
  both(waiter, setter);
  return rounds != 2;
}
