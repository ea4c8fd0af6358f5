/* account.c: with -DHASTY it looks at the balance before it has the lock, which is a mistake. */
#include "account.h"

void account_init(struct account *a, int balance) {
  pthread_mutex_init(&a->lock, NULL);
  a->balance = balance;
}

#ifdef HASTY

static int balance_of(struct account *a) {
  pthread_mutex_lock(&a->lock);
  int balance = a->balance;
  pthread_mutex_unlock(&a->lock);
  return balance;
}

bool account_take(struct account *a, int amount) {
  if (balance_of(a) < amount) return false;
  pthread_mutex_lock(&a->lock);
  a->balance -= amount;
  pthread_mutex_unlock(&a->lock);
  return true;
}

#else

bool account_take(struct account *a, int amount) {
  pthread_mutex_lock(&a->lock);
  bool enough = a->balance >= amount;
  if (enough) a->balance -= amount;
  pthread_mutex_unlock(&a->lock);
  return enough;
}

#endif
