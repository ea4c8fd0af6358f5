// expect: kind=deadlock
// native: no
/* Two file locks in two orders. */
#include <fcntl.h>
#include <sys/file.h>

#include "litmus.h"

static void take(const char *a, const char *b)
{
  int x = open(a, O_CREAT | O_RDWR, 0600), y = open(b, O_CREAT | O_RDWR, 0600);
  assert(flock(x, LOCK_EX) == 0 && flock(y, LOCK_EX) == 0);
  close(x);
  close(y);
}

static void *one(void *arg) { return take("a", "b"), arg; }
static void *two(void *arg) { return take("b", "a"), arg; }

int main(void)
{
  both(one, two);
  return 0;
}
