// Read after free, in one schedule only.
// restart: memory fork
// expect: kind=use-after-free
// args: --ignore data-race
// where: function=reader line=@read role=at
// where: function=main line=@alloc role=alloc
// where: function=freer line=@free role=free
#include "litmus.h"

static int *block;

static void *reader(void *arg)
{
  (void)arg;
  return (void *)(long)block[1]; /* @read */
}

static void *freer(void *arg)
{
  free(block); /* @free */
  return arg;
}

int main(void)
{
  block = malloc(8); /* @alloc */
  block[1] = 1;
  both(reader, freer);
  return 0;
}
