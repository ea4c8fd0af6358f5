// Of many threads only two race, and only when a third has prepared it.
// expect: kind=data-race
// where: function=odd
#include "litmus.h"

int armed, value, quiet[4];

static void *even(void *arg)
{
  quiet[(long)arg]++;
  return NULL;
}

static void *arm(void *arg)
{
  poke(&armed, 1);
  return arg;
}

static void *odd(void *arg)
{
  if (peek(&armed)) value = (int)(long)arg;
  return NULL;
}

int main(void)
{
  pthread_t t[6] = {spawn(even, (void *)0L), spawn(odd, (void *)1L), spawn(even, (void *)2L),
                    spawn(odd, (void *)3L), spawn(arm, NULL), spawn(even, (void *)1L)};
  for (int i = 0; i < 6; i++) join(t[i]);
  return 0;
}
