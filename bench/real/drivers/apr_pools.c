/* APR: pools of two threads, a condition, a read-write lock, something that is done once. */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_strings.h>
#include <apr_thread_cond.h>
#include <apr_thread_mutex.h>
#include <apr_thread_proc.h>
#include <apr_thread_rwlock.h>
#include <stdlib.h>

static apr_pool_t *root;
static apr_thread_mutex_t *mutex;
static apr_thread_cond_t *cond;
static apr_thread_rwlock_t *lock;
static apr_thread_once_t *once;
static int sum, arrived, begun;

static void must(int good) {
  if (!good) abort();
}

static void begin(void) { begun++; }

static void *APR_THREAD_FUNC work(apr_thread_t *t, void *arg) {
  apr_pool_t *pool;
  must(!apr_thread_once(once, begin) && !apr_pool_create(&pool, root));
  must(apr_pstrdup(pool, "text")[3] == 't');
  apr_thread_rwlock_rdlock(lock);
  must(sum >= 0);
  apr_thread_rwlock_unlock(lock);
  apr_thread_mutex_lock(mutex);
  arrived++;
  apr_thread_cond_signal(cond);
  apr_thread_mutex_unlock(mutex);
  apr_thread_rwlock_wrlock(lock);
  sum++;
  apr_thread_rwlock_unlock(lock);
  apr_pool_destroy(pool);
  apr_thread_exit(t, 0);
  return arg;
}

int main(void) {
  apr_thread_t *t[2];
  apr_status_t status;
  must(!apr_initialize() && !apr_pool_create(&root, NULL));
  must(!apr_thread_mutex_create(&mutex, APR_THREAD_MUTEX_DEFAULT, root) && !apr_thread_cond_create(&cond, root));
  must(!apr_thread_rwlock_create(&lock, root) && !apr_thread_once_init(&once, root));
  for (int i = 0; i < 2; i++) must(!apr_thread_create(&t[i], NULL, work, NULL, root));
  apr_thread_mutex_lock(mutex);
  while (arrived < 2) apr_thread_cond_wait(cond, mutex);
  apr_thread_mutex_unlock(mutex);
  for (int i = 0; i < 2; i++) apr_thread_join(&status, t[i]);
  must(sum == 2 && begun == 1);
  apr_pool_destroy(root);
  apr_terminate();
  return 0;
}
