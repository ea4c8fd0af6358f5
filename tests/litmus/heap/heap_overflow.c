// One byte beyond a block. By argument: read, write, a read-modify-write, before it, memset, strcpy, far.
// native: no
// expect: kind=heap-overflow
// argv: read
// where: function=worker line=@read role=at
// where: function=main role=alloc
// expect: kind=heap-overflow
// argv: write
// where: function=worker line=@write
// expect: kind=heap-overflow
// argv: underflow
// where: function=worker line=@under
// expect: kind=heap-overflow
// argv: memset
// where: function=worker line=@memset
// expect: kind=heap-overflow
// argv: copy
// where: function=worker line=@strcpy
// expect: kind=heap-overflow
// argv: int
// where: function=worker line=@int
#include "litmus.h"

char *block;
const char *text = "0123456789012";
size_t n = 14;

static void *worker(void *arg)
{
  switch (*(char *)arg) {
    case 'r': return (void *)(long)block[13]; /* @read */
    case 'w': block[13] = 1; break;           /* @write */
    case 'u': block[-1] = 1; break;           /* @under */
    case 'm': memset(block, 0, n); break;     /* @memset */
    case 'c': strcpy(block, text); break;     /* @strcpy */
    case 'i': ((int *)block)[3] = 1; break;   /* @int */
  }
  return NULL;
}

int main(int argc, char **argv)
{
  block = malloc(13);
  join(spawn(worker, argv[argc - 1]));
  free(block);
  return 0;
}
