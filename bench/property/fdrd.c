/* fdrd.c ROUNDS: figure 5.1 of Yang (2009), each thread ROUNDS times over: y is under one lock here and under another one
 * there, but the second thread only writes it if it read x before the first one wrote that. Its fdrd2 and fdrd4. */
#include "../search/sizes.h"

static pthread_mutex_t f1 = PTHREAD_MUTEX_INITIALIZER, f2 = PTHREAD_MUTEX_INITIALIZER;
static int rounds, x, y, z, c;

static void *first(void *unused) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&f1);
    x++;
    pthread_mutex_unlock(&f1);
    pthread_mutex_lock(&f2);
    y++;
    pthread_mutex_unlock(&f2);
    pthread_mutex_lock(&f1);
    z++;
    pthread_mutex_unlock(&f1);
  }
  return unused;
}

static void *second(void *unused) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&f1);
    pthread_mutex_lock(&f2);
    z++;
    c = x;
    pthread_mutex_unlock(&f2);
    pthread_mutex_unlock(&f1);
    pthread_mutex_lock(&f1);
    if (c == 0) y++;
    pthread_mutex_unlock(&f1);
  }
  return unused;
}

MAIN {
  rounds = SIZE(1, 1);
  start(first, 0);
  start(second, 0);
  join_all();
  return 0;
}
