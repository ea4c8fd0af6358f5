// abort() in one schedule.
// restart: memory fork
// expect: kind=abort
// where: function=give_up line=@abort
#include "litmus.h"

static int ready;

static void give_up(void)
{
  abort(); /* @abort */
}

static void *user(void *arg)
{
  if (!peek(&ready)) give_up();
  return arg;
}

static void *init(void *arg)
{
  poke(&ready, 1);
  return arg;
}

int main(void)
{
  both(init, user);
  return 0;
}
