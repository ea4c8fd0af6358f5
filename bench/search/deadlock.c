/* deadlock.c PRINTERS ADDERS: a table holds a vector and the vector holds the table. A printer walks the
 * table and in it the vector (locks table, vector). Adders add to the vector; the one that adds the last
 * element also hashes the vector and in it the table (vector, table). Only that one can deadlock with a
 * printer, so many threads have to come first. After the Deadlock model of Rungta (2009), table 3.1 (hard at
 * 1, 9).
 *
 * count: 1 1 strategy=optimal executions=3 findings=deadlock
 * count: 1 3 strategy=optimal executions=30 findings=deadlock
 * clean: 0 3
 * bug: 1 1 kind=deadlock
 * bug: 1 9 kind=deadlock
 * bug: 1 10 kind=deadlock */
#include "sizes.h"

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, vector = PTHREAD_MUTEX_INITIALIZER;
static int elements, adders;

static void *printer(void *unused) {
  pthread_mutex_lock(&table);
  pthread_mutex_lock(&vector);
  pthread_mutex_unlock(&vector);
  pthread_mutex_unlock(&table);
  return unused;
}

static void *adder(void *unused) {
  pthread_mutex_lock(&vector);
  if (++elements == adders) {
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
  }
  pthread_mutex_unlock(&vector);
  return unused;
}

MAIN {
  int printers = SIZE(1, 1);
  adders = SIZE(2, 9);
  for (int i = 0; i < printers; i++) start(printer, i);
  for (int i = 0; i < adders; i++) start(adder, i);
  join_all();
  return 0;
}
