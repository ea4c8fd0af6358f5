/* lazy.c: a table that is built when it is first needed.
 *
 * The test of `table` is outside the lock and `table` is a plain pointer, so a thread may see the
 * pointer before the data it points to: a data race, and on a machine that reorders stores a wrong result.
 *
 *   heddle cc -g lazy.c -o lazy && heddle check -- ./lazy
 *
 * lazy_fixed.c publishes the pointer with release and reads it with acquire. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *table;

static int *get_table(void)
{
  if (!table) { /* not under the lock */
    pthread_mutex_lock(&lock);
    if (!table) {
      int *t = calloc(10, sizeof *t);
      for (int i = 0; i < 10; i++) t[i] = i * i;
      table = t;
    }
    pthread_mutex_unlock(&lock);
  }
  return table;
}

static void *user(void *arg)
{
  assert(get_table()[7] == 49);
  return arg;
}

int main(void)
{
  pthread_t t[2];
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, user, NULL);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
  free(table);
  return 0;
}
