// Frees of addresses that malloc did not return. By argument: stack, global, the middle of a block, a wild pointer.
// native: no
// expect: kind=invalid-free
// argv: stack
// where: function=worker line=@free
// expect: kind=invalid-free
// argv: global
// where: function=worker line=@free
// expect: kind=invalid-free
// argv: interior
// where: function=worker line=@free
// expect: kind=invalid-free
// argv: wild
// where: function=worker line=@free
// expect: kind=invalid-free
// argv: realloc
// where: function=worker line=@realloc
#include "litmus.h"

static char global[64];
char *interior;
void *kept;

static void *worker(void *arg)
{
  char local[64];
  void *p = NULL;
  kept = local;
  switch (*(char *)arg) {
    case 's': p = kept; break;
    case 'g': p = global + 16; break;
    case 'i': p = interior + 16; break;
    case 'w': p = (void *)0x123456789010; break;
    case 'r': kept = realloc(interior + 16, 100); return NULL; /* @realloc */
  }
  free(p); /* @free */
  return NULL;
}

int main(int argc, char **argv)
{
  interior = malloc(64);
  join(spawn(worker, argv[argc - 1]));
  return 0;
}
