#include <pthread.h>
#include <stdatomic.h>

/* Two flags, each of which is set only after the other was seen. */
static atomic_int ready[2], stop, ticks;

static void *peer(void *a) {
  int me = *(int *)a;
  for (int i = 0; i < 2; i++) atomic_fetch_add(&ticks, 1);
  if (atomic_load(&stop)) return a; /* @stop */
  while (!atomic_load(&ready[1 - me])) {} /* @spin */
  atomic_store(&ready[me], 1);
  return a;
}

int main(void) {
  static int id[2] = {0, 1};
  pthread_t t;
  atomic_store(&ready[1], 1);
  pthread_create(&t, 0, peer, &id[0]);
  atomic_store(&ready[1], 0); /* @reset */
  pthread_join(t, 0);
  return 0;
}
