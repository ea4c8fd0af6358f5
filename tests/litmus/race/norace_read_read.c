// Any number of readers.
// expect: clean executions=200
#include "litmus.h"

static int table[64];

static void *reader(void *arg)
{
  long sum = 0;
  (void)arg;
  for (int i = 0; i < 64; i++) sum += table[i];
  return (void *)sum;
}

int main(void)
{
  for (int i = 0; i < 64; i++) table[i] = i;
  both(reader, reader);
  return 0;
}
