// A call through a function pointer that is still NULL: the caller must be shown.
// expect: kind=crash
// says: user
#include "litmus.h"

static void hello(void) {}
static void (*hook)(void);

static void *init(void *arg)
{
  poke(&hook, hello);
  return arg;
}

static void *user(void *arg)
{
  peek(&hook)();
  return arg;
}

int main(void)
{
  both(init, user);
  return 0;
}
