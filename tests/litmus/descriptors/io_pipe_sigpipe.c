// expect: kind=crash
// where: function=main line=@x
// native: no
/* Nobody reads: the signal that kills is a finding with a place. */
#include "litmus.h"

int main(void)
{
  int p[2];
  assert(pipe(p) == 0);
  close(p[0]);
  assert(write(p[1], "x", 1) == 1); /* @x */
  return 0;
}
