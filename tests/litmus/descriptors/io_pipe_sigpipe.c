// expect: kind=crash
// where: function=main line=@x
// native: no
/* No reader: the fatal signal is a finding with a location. */
#include "litmus.h"

int main(void)
{
  int p[2];
  assert(pipe(p) == 0);
  close(p[0]);
  assert(write(p[1], "x", 1) == 1); /* @x */
  return 0;
}
