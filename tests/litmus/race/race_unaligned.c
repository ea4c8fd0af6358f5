// Unaligned words that overlap in one byte, across an 8-byte border.
// opt: -O0 -O2
// expect: kind=data-race
#include "litmus.h"

char buffer[32];

struct __attribute__((packed)) word {
  uint32_t v;
};

static void *one(void *arg)
{
  ((struct word *)(buffer + 5))->v = 1; /* 5..8 */
  return arg;
}

static void *two(void *arg)
{
  ((struct word *)(buffer + 8))->v = 2; /* 8..11 */
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
