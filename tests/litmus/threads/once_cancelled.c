// A thread that is cancelled, or ends, inside a once-routine leaves the flag for the next caller.
// restart: memory fork
// expect: clean executions=50
#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int tries, done;

static void init(void)
{
  if (tries++ == 0) pthread_testcancel();
  if (tries == 2 && !done) done = 1, pthread_exit(NULL);
  done = 2;
}

static void *worker(void *arg)
{
  pthread_once(&once, init);
  return arg;
}

int main(void)
{
  pthread_t a, b;
  pthread_create(&a, NULL, worker, NULL);
  pthread_cancel(a);
  pthread_join(a, NULL);
  pthread_create(&b, NULL, worker, NULL);
  pthread_join(b, NULL);
  pthread_once(&once, init);
  assert(done == 2);
  return 0;
}
