/* churn.c: a little of everything that leaves traces in a process: threads, locks, a condition variable, a key
 * with a destructor, thread-local data, allocations of several sizes. Run millions of times in one process it
 * must not grow. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static char *box;
static _Thread_local int mine;
static int seen;

static void *giver(void *unused) {
  pthread_setspecific(key, malloc(48));
  char *s = malloc(100);
  strcpy(s, "box");
  pthread_mutex_lock(&lock);
  box = s;
  pthread_cond_signal(&ready);
  pthread_mutex_unlock(&lock);
  mine++;
  return unused;
}

static void *taker(void *unused) {
  char *scratch = calloc(1, 3000);
  pthread_mutex_lock(&lock);
  while (!box) pthread_cond_wait(&ready, &lock);
  seen = box[0] == 'b';
  free(box);
  pthread_mutex_unlock(&lock);
  scratch = realloc(scratch, 6000);
  free(scratch);
  mine++;
  return unused;
}

int main(void) {
  pthread_t a, b;
  char text[64];
  pthread_key_create(&key, free);
  pthread_create(&a, 0, giver, 0);
  pthread_create(&b, 0, taker, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  snprintf(text, sizeof text, "seen %d", seen + mine);
  return strcmp(text, "seen 1") != 0;
}
