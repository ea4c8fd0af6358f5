// A cache that many threads read and one fills, done correctly. Readers do not exclude each other, so there is one
// execution for each way in which the writer can come between them.
// opt: -O0 -O2
// expect: clean executions=4
// args: --strategy optimal
// expect: clean executions=4
// args: --strategy dpor
// expect: clean executions=200
// args: --strategy random
// restart: memory fork
#include "litmus.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int key, value;

static void *reader(void *arg)
{
  pthread_rwlock_rdlock(&lock);
  assert(value == key * 10);
  pthread_rwlock_unlock(&lock);
  return arg;
}

static void *writer(void *arg)
{
  pthread_rwlock_wrlock(&lock);
  key = 1;
  value = 10;
  pthread_rwlock_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_t a = spawn(reader, NULL), b = spawn(reader, NULL), w = spawn(writer, NULL);
  join(a);
  join(b);
  join(w);
  assert(value == 10);
  return 0;
}
