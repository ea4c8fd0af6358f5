// Two threads make 200 rounds each of a loop whose limit shares 8 bytes with a variable that both change. Such a loop may
// wait for its limit, so it is followed for some rounds only while others can run. The steps behind the loops still
// interleave, and both additions may be one.
// expect: kind=assertion
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static struct {
  int rounds;
  atomic_int count;
} shared = {200, 0};
static atomic_int noise;
static void *work(void *arg) {
  for (volatile int i = 0; i < shared.rounds; i++) atomic_fetch_add(&noise, 1);
  int seen = atomic_load(&shared.count);
  atomic_store(&shared.count, seen + 1);
  return arg;
}
int main(void) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  assert(shared.count == 2);
  return 0;
}
