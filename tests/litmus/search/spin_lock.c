// Spin locks: correct; in two orders; taken twice; released by another thread; destroyed while held.
// expect: clean executions=2
// args: --strategy optimal
// expect: clean executions=200
// args: --strategy random
// restart: memory fork
// expect: kind=deadlock
// argv: order
// where: function=third role=waits
// where: function=third role=holds
// expect: kind=double-lock
// argv: twice
// says: this spin lock
// expect: kind=unlock-not-owner
// argv: foreign
// expect: kind=destroy-in-use
// argv: destroy
// expect: kind=livelock
// argv: spin
#include "litmus.h"

static pthread_spinlock_t a, b;
static int n;
static const char *what = "";

static void *one(void *arg)
{
  pthread_spin_lock(&a);
  if (!strcmp(what, "order")) pthread_spin_lock(&b);
  n++;
  if (!strcmp(what, "order")) pthread_spin_unlock(&b);
  if (strcmp(what, "spin")) pthread_spin_unlock(&a);
  return arg;
}

static void *other(void *arg)
{
  if (strcmp(what, "spin"))
    pthread_spin_lock(&a);
  else
    while (pthread_spin_trylock(&a)) sched_yield();
  n++;
  pthread_spin_unlock(&a);
  return arg;
}

static void *third(void *arg)
{
  pthread_spin_lock(&b);
  pthread_spin_lock(&a);
  pthread_spin_unlock(&a);
  pthread_spin_unlock(&b);
  return arg;
}

int main(int argc, char **argv)
{
  if (argc > 1) what = argv[1];
  pthread_spin_init(&a, PTHREAD_PROCESS_PRIVATE);
  pthread_spin_init(&b, PTHREAD_PROCESS_PRIVATE);
  if (!strcmp(what, "order")) {
    both(one, third);
    return 0;
  }
  if (!strcmp(what, "twice")) {
    pthread_spin_lock(&a);
    pthread_spin_lock(&a);
  }
  if (!strcmp(what, "foreign")) pthread_spin_unlock(&a);
  if (!strcmp(what, "destroy")) {
    pthread_spin_lock(&a);
    pthread_spin_destroy(&a);
  }
  both(one, other);
  assert(n == 2);
  if (strcmp(what, "spin")) pthread_spin_destroy(&a); /* a thread may have ended with it */
  return 0;
}
