// A reservation without access is filled piece by piece, at fixed addresses, by each thread its own.
// expect: clean
#include "litmus.h"
#include <sys/mman.h>

static char *room;

static void *fill(void *at)
{
  char *p = mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  assert(p == at);
  p[0]++;
  return NULL;
}

int main(void)
{
  room = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  assert(room != MAP_FAILED);
  pthread_t t = spawn(fill, room + 4096);
  fill(room);
  join(t);
  assert(room[0] == 1 && room[4096] == 1);
  munmap(room, 8192);
  return 0;
}
