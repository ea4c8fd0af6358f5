// Unaligned words side by side.
// opt: -O0 -O2
// expect: clean executions=200
#include "litmus.h"

static char buffer[32];

struct __attribute__((packed)) word {
  uint32_t v;
};
struct __attribute__((packed)) wide {
  uint64_t v;
};

static void *one(void *arg)
{
  ((struct word *)(buffer + 5))->v = 1;  /* 5..8 */
  ((struct wide *)(buffer + 13))->v = 1; /* 13..20 */
  return arg;
}

static void *two(void *arg)
{
  ((struct word *)(buffer + 9))->v = 2;  /* 9..12 */
  ((struct wide *)(buffer + 21))->v = 2; /* 21..28 */
  return arg;
}

int main(void)
{
  both(one, two);
  return 0;
}
