// Neighbours in one word, of 1, 2 and 4 bytes, are different memory locations.
// opt: -O0 -O2
// expect: clean executions=200
#include "litmus.h"

static char c[8];
static short s[4];
static int i[2];
static struct {
  char a;
  short b;
  int c;
} mixed;

static void *one(void *arg)
{
  c[0] = c[2] = c[7] = 1;
  s[0] = s[2] = 1;
  i[0] = 1;
  mixed.a = 1;
  mixed.c = 1;
  return arg;
}

static void *two(void *arg)
{
  c[1] = c[3] = c[6] = 2;
  s[1] = s[3] = 2;
  i[1] = 2;
  mixed.b = 2;
  return arg;
}

int main(void)
{
  both(one, two);
  assert(c[0] + c[1] == 3 && s[0] + s[1] == 3 && i[0] + i[1] == 3 && mixed.a + mixed.b + mixed.c == 4);
  return 0;
}
