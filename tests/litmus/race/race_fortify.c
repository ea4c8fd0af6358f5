// The checking versions of memcpy and similar functions, which -D_FORTIFY_SOURCE substitutes.
// cflags: -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
// opt: -O2
// expect: kind=data-race
// argv: memcpy
// says: writer
// expect: kind=data-race
// argv: strcpy
// says: writer
// expect: kind=data-race
// argv: append
// says: writer
// expect: kind=data-race
// argv: zero
// says: writer
#include "litmus.h"

char buffer[64], from[64] = "abcdef";
volatile size_t n = 8;
static char what;

static void *writer(void *arg)
{
  switch (what) {
    case 'm': memcpy(buffer, from, n); break;
    case 's': strcpy(buffer, from); break;
    case 'a': strncat(buffer, from, n); break;
    case 'z': memset(buffer, 0, n); break;
  }
  return arg;
}

static void *reader(void *arg)
{
  (void)arg;
  return (void *)(long)buffer[3];
}

int main(int argc, char **argv)
{
  what = argv[argc - 1][0];
  both(writer, reader);
  return 0;
}
