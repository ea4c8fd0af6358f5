// Destroyed while a thread holds it.
// expect: kind=destroy-in-use
// where: function=main line=@destroy
#include "litmus.h"

static pthread_mutex_t lock;
static int held;

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  poke(&held, 1);
  poke(&held, 0);
  pthread_mutex_unlock(&lock);
  return arg;
}

int main(void)
{
  pthread_mutex_init(&lock, NULL);
  pthread_t t = spawn(worker, NULL);
  if (peek(&held)) pthread_mutex_destroy(&lock); /* @destroy */
  join(t);
  return 0;
}
