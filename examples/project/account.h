/* account.h: money that several threads may take. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include <pthread.h>
#include <stdbool.h>

struct account {
  pthread_mutex_t lock;
  int balance;
};

void account_init(struct account *a, int balance);
/* False, and nothing is taken, if there is not enough. */
bool account_take(struct account *a, int amount);

#endif
