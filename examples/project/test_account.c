/* test_account.c: two threads take money from one account; there is never less than none. The first argument is the
 * balance, 100 if there is none. */
#include "account.h"

#include <assert.h>
#include <heddle.h>
#include <stdlib.h>

static struct account account;

static void *customer(void *arg) {
  if (!account_take(&account, 60)) hd_note("not enough");
  return arg;
}

int main(int argc, char **argv) {
  pthread_t a, b;
  account_init(&account, argc > 1 ? atoi(argv[1]) : 100);
  pthread_create(&a, NULL, customer, NULL);
  pthread_create(&b, NULL, customer, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(account.balance >= 0);
  return 0;
}
