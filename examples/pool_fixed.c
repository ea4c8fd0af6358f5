/* pool_fixed.c: pool.c corrected. Closing concerns every worker, so it is a broadcast. */
#include <assert.h>
#include <pthread.h>

#define WORKERS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static int jobs, done, closed;

static void *worker(void *arg)
{
  pthread_mutex_lock(&lock);
  for (;;) {
    while (jobs == 0 && !closed) pthread_cond_wait(&wake, &lock);
    if (jobs == 0) break;
    jobs--;
    done++;
  }
  pthread_mutex_unlock(&lock);
  return arg;
}

static void submit(void)
{
  pthread_mutex_lock(&lock);
  jobs++;
  pthread_cond_signal(&wake);
  pthread_mutex_unlock(&lock);
}

static void close_pool(void)
{
  pthread_mutex_lock(&lock);
  closed = 1;
  pthread_cond_broadcast(&wake);
  pthread_mutex_unlock(&lock);
}

int main(void)
{
  pthread_t t[WORKERS];
  for (int i = 0; i < WORKERS; i++) pthread_create(&t[i], NULL, worker, NULL);
  submit();
  close_pool();
  for (int i = 0; i < WORKERS; i++) pthread_join(t[i], NULL);
  assert(done == 1);
  return 0;
}
