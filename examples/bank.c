/* bank.c: money moves between accounts, each with its own lock.
 *
 * transfer() locks the account it takes from, then the one it gives to. Alice pays Bob while Bob pays
 * Alice: each call holds one lock and waits for the other, forever. Runs of the ordinary program
 * almost never show it.
 *
 *   heddle cc -g bank.c -o bank && heddle check -- ./bank
 *
 * bank_fixed.c is the same program, put right. */
#include <assert.h>
#include <pthread.h>

struct account {
  pthread_mutex_t lock;
  int balance;
};

static struct account alice = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account bob = {PTHREAD_MUTEX_INITIALIZER, 100};

static void transfer(struct account *from, struct account *to, int amount)
{
  pthread_mutex_lock(&from->lock);
  pthread_mutex_lock(&to->lock); /* and the other way round? */
  from->balance -= amount;
  to->balance += amount;
  pthread_mutex_unlock(&to->lock);
  pthread_mutex_unlock(&from->lock);
}

static void *alice_pays(void *arg)
{
  transfer(&alice, &bob, 10);
  return arg;
}

static void *bob_pays(void *arg)
{
  transfer(&bob, &alice, 25);
  return arg;
}

int main(void)
{
  pthread_t a, b;
  pthread_create(&a, NULL, alice_pays, NULL);
  pthread_create(&b, NULL, bob_pays, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  assert(alice.balance == 115 && bob.balance == 85);
  return 0;
}
