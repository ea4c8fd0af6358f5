/* bank_fixed.c: bank.c corrected. In either direction the account with the lower address is locked
 * first, so no two threads can each hold what the other wants. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

struct account {
  pthread_mutex_t lock;
  int balance;
};

static struct account alice = {PTHREAD_MUTEX_INITIALIZER, 100};
static struct account bob = {PTHREAD_MUTEX_INITIALIZER, 100};

static void transfer(struct account *from, struct account *to, int amount)
{
  struct account *first = (uintptr_t)from < (uintptr_t)to ? from : to;
  struct account *second = first == from ? to : from;
  pthread_mutex_lock(&first->lock);
  pthread_mutex_lock(&second->lock);
  from->balance -= amount;
  to->balance += amount;
  pthread_mutex_unlock(&second->lock);
  pthread_mutex_unlock(&first->lock);
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
