// Mappings that one thread removes or empties while another uses them, and mappings of threads' own.
// expect: kind=data-race
// argv: munmap
// expect: kind=data-race
// argv: madvise
// expect: kind=data-race
// argv: mremap
// expect: kind=data-race
// argv: fixed
// expect: exact executions=1
// argv: own
// native: no
#define _GNU_SOURCE
#include <fenv.h>
#include <sys/mman.h>
#include <sys/shm.h>

#include "litmus.h"

static char *page;

static char *map(void) { return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static void *user(void *how)
{
  if (!strcmp(how, "own")) { /* whatever addresses the kernel hands out again */
    char *mine = mmap64(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mine[0] = 1;
    munmap(mine, 4096);
  } else if (!strcmp(how, "munmap")) {
    munmap(page, 8192);
  } else if (!strcmp(how, "madvise")) {
    madvise(page, 4096, MADV_DONTNEED);
  } else if (!strcmp(how, "mremap")) {
    mremap(page, 8192, 1 << 20, MREMAP_MAYMOVE);
  } else {
    mmap(page, 4096, PROT_READ, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  return NULL;
}

int main(int argc, char **argv)
{
  (void)argc;
  page = map();
  mprotect(page, 8192, PROT_READ | PROT_WRITE);
  int id = shmget(IPC_PRIVATE, 4096, 0600 | IPC_CREAT);
  char *shared = shmat(id, NULL, 0);
  shmctl(id, IPC_RMID, NULL);
  shmdt(shared);
  pthread_t t = spawn(user, argv[1]);
  if (!strcmp(argv[1], "own"))
    user(argv[1]);
  else
    page[7] = 1;
  join(t);
  return 0;
}
