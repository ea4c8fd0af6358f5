// Descriptors closed as a range, the size of a pipe by its other end, and calls on pages that another thread unmaps.
// expect: kind=assertion
// argv: range
// where: function=main line=@range
// expect: kind=assertion
// argv: from
// where: function=main line=@range
// expect: kind=assertion
// argv: size
// where: function=main line=@size
// expect: kind=assertion
// argv: lock
// where: function=main line=@lock
// expect: kind=assertion
// argv: lock2
// where: function=main line=@lock2
// expect: kind=assertion
// argv: unlock
// where: function=main line=@unlock
// expect: kind=assertion
// argv: sync
// where: function=main line=@sync
// expect: clean
// argv: other
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "litmus.h"

int close_range(unsigned, unsigned, int);
void closefrom(int);

static const char *what;
static int fd, ends[2];
static char *page;

static void *other(void *arg)
{
  if (!strcmp(what, "range")) close_range((unsigned)fd, (unsigned)fd, 0);
  if (!strcmp(what, "from")) closefrom(fd);
  if (!strcmp(what, "size")) fcntl(ends[1], F_SETPIPE_SZ, 4096);
  if (strstr(what, "lock") || !strcmp(what, "sync")) munmap(page, 4096);
  if (!strcmp(what, "other")) close_range((unsigned)fd + 1, (unsigned)fd + 9, 0);
  return arg;
}

int main(int argc, char **argv)
{
  char c;
  if (argc < 2) return 0;
  what = argv[1];
  if (pipe(ends)) return 0;
  fd = open("/dev/null", O_RDONLY);
  page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t = spawn(other, NULL);
  if (!strcmp(what, "size")) assert(fcntl(ends[0], F_GETPIPE_SZ) != 4096); /* @size */
  if (!strcmp(what, "lock")) assert(mlock(page, 4096) == 0);               /* @lock */
  if (!strcmp(what, "lock2")) assert(mlock2(page, 4096, 0) == 0);          /* @lock2 */
  if (!strcmp(what, "unlock")) assert(munlock(page, 4096) == 0);           /* @unlock */
  if (!strcmp(what, "sync")) assert(msync(page, 4096, MS_SYNC) == 0);      /* @sync */
  if (!strcmp(what, "range") || !strcmp(what, "from") || !strcmp(what, "other"))
    assert(read(fd, &c, 1) == 0); /* @range */
  join(t);
  return 0;
}
