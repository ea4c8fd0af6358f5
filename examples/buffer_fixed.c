/* buffer_fixed.c: buffer.c corrected. The consumer checks again whenever it wakes, which also makes it
 * safe against spurious wake-ups (heddle check --spurious). */
#include <assert.h>
#include <pthread.h>

#define SIZE 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int item[SIZE], count;

static void put(int value)
{
  pthread_mutex_lock(&lock);
  while (count == SIZE) pthread_cond_wait(&changed, &lock);
  item[count++] = value;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

static int get(void)
{
  pthread_mutex_lock(&lock);
  while (count == 0) pthread_cond_wait(&changed, &lock);
  int value = item[--count];
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return value;
}

static void *consumer(void *arg)
{
  *(int *)arg = get();
  return NULL;
}

int main(void)
{
  pthread_t t[2];
  int got[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, consumer, &got[i]);
  put(1);
  put(2);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  assert(got[0] + got[1] == 3);
  return 0;
}
