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
// expect: kind=data-race
// argv: input
// says: writer
// expect: kind=data-race
// argv: position
// says: writer
// expect: kind=data-race
// argv: line
// says: writer
// expect: kind=data-race
// argv: folder
// says: writer
// expect: kind=data-race
// argv: wide
// says: writer
#include "litmus.h"
#include <fcntl.h>
#include <wchar.h>

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
    case 'i': assert(read(open("/dev/zero", O_RDONLY), buffer, n) == 8); break;
    case 'p': assert(pread(open("/dev/zero", O_RDONLY), buffer, n, 0) == 8); break;
    case 'l': assert(fgets(buffer, (int)n, fopen("/etc/passwd", "r"))); break;
    case 'f': assert(readlink("/proc/self/exe", buffer, n) == 8); break;
    case 'w': wmemset((wchar_t *)buffer, L'x', n); break;
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
