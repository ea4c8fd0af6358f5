// What belongs to a descriptor is kept under its number. Wrong: it is cleared when another thread may have the number again.
// expect: kind=assertion
// where: function=opener line=@kept
// expect: clean executions=20
// argv: first
// expect: kind=assertion
// argv: compare
// where: function=main line=@same
// expect: clean executions=20
// argv: small
#include <fcntl.h>
#include <sys/eventfd.h>

#include "litmus.h"

static int owner[16], clear_first, small, old, fresh;

static void set(int fd, int value)
{
  assert(fd >= 0 && fd < 16);
  __atomic_store_n(&owner[fd], value, __ATOMIC_SEQ_CST);
}

static void *closer(void *arg)
{
  if (clear_first) set(old, 0);
  close(old);
  if (!clear_first && !small) set(old, 0);
  return arg;
}

static void *opener(void *arg)
{
  fresh = eventfd(0, 0);
  set(fresh, 1);
  if (!arg) assert(__atomic_load_n(&owner[fresh], __ATOMIC_SEQ_CST)); /* @kept */
  return NULL;
}

int main(int argc, char **argv)
{
  int compare = argc > 1 && !strcmp(argv[1], "compare");
  clear_first = argc > 1 && !strcmp(argv[1], "first");
  small = argc > 1 && (compare || !strcmp(argv[1], "small"));
  old = open("/dev/null", O_RDONLY);
  pthread_t a = spawn(closer, NULL), b = spawn(opener, compare ? &compare : NULL);
  join(a);
  join(b);
  if (compare) assert(fresh != old); /* @same */
  return 0;
}
