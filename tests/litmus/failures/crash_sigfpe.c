// A division by zero in one schedule.
// opt: -O0 -O1
// expect: kind=crash
// where: function=user line=@divide
// says: SIGFPE
#include "litmus.h"

static int parts = 1;

static void *resize(void *arg)
{
  poke(&parts, 0);
  poke(&parts, 2);
  return arg;
}

static void *user(void *arg)
{
  (void)arg;
  int n = peek(&parts);
  return (void *)(long)(100 / n); /* @divide */
}

int main(void)
{
  both(resize, user);
  return 0;
}
