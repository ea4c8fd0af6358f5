/* sharr.c ROUNDS: two threads write different elements of one array, turn about through all of it. No
 * element is written by both, so one execution stands for all; the stateless search of Yang (2009), table
 * 4.1, did not finish in 24 hours.
 *
 * count: 8 strategy=optimal executions=1
 * count: 64 strategy=optimal executions=1
 * states: 64 begun=1
 * clean: 8 */
#include "sizes.h"

enum { LENGTH = 128 };

static atomic_int array[LENGTH];
static int rounds;

static void *writer(void *arg) {
  int me = (int)(intptr_t)arg;
  for (int i = 0; i < rounds; i++) poke(array[(2 * i + me) % LENGTH], i + 1);
  return 0;
}

MAIN {
  rounds = SIZE(1, 64);
  start(writer, 0);
  start(writer, 1);
  join_all();
  return 0;
}
