// A write to a read-only page.
// expect: kind=crash
// where: function=user line=@use
// says: SIGSEGV
#include "litmus.h"

const char text[] = "constant";
static const char *target = text;

static void *init(void *arg)
{
  static char own[16];
  poke(&target, (const char *)own);
  return arg;
}

static void *user(void *arg)
{
  *(char *)peek(&target) = 'C'; /* @use */
  return arg;
}

int main(void)
{
  both(init, user);
  return 0;
}
