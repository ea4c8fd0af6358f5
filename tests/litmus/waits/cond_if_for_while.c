// Two consumers and `if`: one wakes up to find that the other has taken the element.
// expect: kind=assertion
// where: function=consumer line=@take
#include "litmus.h"

MUTEX(lock);
COND(cond);
static int items;

static void *consumer(void *arg)
{
  pthread_mutex_lock(&lock);
  if (items == 0) pthread_cond_wait(&cond, &lock);
  assert(items > 0); /* @take */
  items--;
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *producer(void *arg)
{
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&lock);
    items++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void)
{
  pthread_t t = spawn(producer, NULL);
  both(consumer, consumer);
  join(t);
  return 0;
}
