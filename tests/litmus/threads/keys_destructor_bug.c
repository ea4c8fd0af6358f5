// A destructor with a failing assertion, which is reported.
// expect: kind=assertion
// where: function=destroy line=@assert
#include "litmus.h"

static pthread_key_t key;
static int live;

static void destroy(void *value)
{
  (void)value;
  assert(__atomic_sub_fetch(&live, 1, __ATOMIC_SEQ_CST) == 0); /* @assert */
}

static void *worker(void *arg)
{
  __atomic_fetch_add(&live, 1, __ATOMIC_SEQ_CST);
  pthread_setspecific(key, &live);
  return arg;
}

int main(void)
{
  pthread_key_create(&key, destroy);
  both(worker, worker);
  return 0;
}
