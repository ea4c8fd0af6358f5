#include <assert.h>
#include <pthread.h>

/* A total that one thread corrects while others add to it, each under the lock, but not in one section. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long total;

static long get(void)
{
  pthread_mutex_lock(&lock);
  long now = total; /* @read */
  pthread_mutex_unlock(&lock);
  return now;
}

static void *correct(void *arg)
{
  long now = get();
  pthread_mutex_lock(&lock);
  total = now + 1; /* @stale */
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *add(void *arg)
{
  for (int i = 0; i < 8; i++) {
    pthread_mutex_lock(&lock);
    long now = total;
    total = now + 1; /* @lost */
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void)
{
  pthread_t one, two, three;
  pthread_create(&one, NULL, correct, NULL);
  pthread_create(&two, NULL, add, NULL);
  pthread_join(one, NULL);
  pthread_create(&three, NULL, add, NULL);
  pthread_join(two, NULL);
  pthread_join(three, NULL);
  assert(total == 17);
}
