// The first thread waits for a variable in mapped memory, which lies below its stack, through a pointer.
// expect: clean
#include <stdatomic.h>
#include <sys/mman.h>

#include "litmus.h"

static atomic_int *flag;

static void *setter(void *arg)
{
  atomic_store(flag, 1);
  return arg;
}

int main(void)
{
  flag = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_t t = spawn(setter, NULL);
  while (!atomic_load(flag)) {}
  join(t);
  return 0;
}
