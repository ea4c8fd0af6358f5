// A handler that changes errno changes it for the code that it interrupts, unless it restores it.
// expect: kind=assertion
// argv: changes
// expect: clean
// argv: saves
// expect: kind=assertion
// argv: between
// where: function=between
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>

#include "litmus.h"

static atomic_int steps;
static int saves;

static void handler(int sig)
{
  int e = errno;
  (void)sig;
  close(-1);
  if (saves) errno = e;
}

static void *opener(void *arg)
{
  int fd = open("/no such file", O_RDONLY);
  steps++; /* the handler may run before this */
  assert(fd == -1 && errno == ENOENT);
  return arg;
}

static void *between(void *arg)
{
  int *volatile where = &errno;
  *where = 0; /* the handler may run after this */
  assert(*where == 0);
  return arg;
}

int main(int argc, char **argv)
{
  if (argc < 2) abort();
  saves = argv[1][0] == 's';
  signal(SIGUSR1, handler);
  pthread_t t = spawn(argv[1][0] == 'b' ? between : opener, NULL);
  steps++;
  pthread_kill(t, SIGUSR1);
  join(t);
  return 0;
}
