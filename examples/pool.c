/* pool.c: a small thread pool that cannot always be shut down.
 *
 * Two workers sleep until there is a job or the pool closes. close_pool() wakes one of them with a
 * signal; when both are asleep the other one never wakes, and join waits forever: a lost wake-up.
 *
 *   heddle cc -g pool.c -o pool && heddle check -- ./pool
 *
 * pool_fixed.c wakes all of them. */
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
  pthread_cond_signal(&wake); /* one of them */
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
