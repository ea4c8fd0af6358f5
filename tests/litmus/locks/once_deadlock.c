// Two pthread_once whose functions need each other.
// native: no
// expect: kind=deadlock
#include "litmus.h"

static pthread_once_t a = PTHREAD_ONCE_INIT, b = PTHREAD_ONCE_INIT;

static void init_b(void);
static void init_a(void) { pthread_once(&b, init_b); }
static void init_b(void) { pthread_once(&a, init_a); }

static void *one(void *arg)
{
  pthread_once(&a, init_a);
  return arg;
}

static void *two(void *arg)
{
  pthread_once(&b, init_b);
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
