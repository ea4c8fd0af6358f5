// threads.h: threads, results, mutexes of every kind, conditions, thread-specific storage, once.
// restart: memory fork
// native: no
// expect: clean executions=100
// args: --strategy random
// expect: kind=data-race
// argv: race
// where: function=racer
// expect: kind=deadlock
// argv: order
// where: function=one role=waits
// where: function=two role=holds
// expect: kind=lost-wakeup
// argv: signal
// expect: kind=unlock-not-owner
// argv: unlock
// expect: kind=destroy-in-use
// argv: destroy
#include "litmus.h"
#include <threads.h>

static mtx_t a, b, rec, timed;
static cnd_t ready;
static int go, n, gone, raced, inits;
static tss_t key;
static once_flag once = ONCE_FLAG_INIT;
static const char *what = "";

static void init(void) { inits++; }
static void drop(void *p) { __atomic_fetch_add(&gone, *(int *)p, __ATOMIC_SEQ_CST); }

static int racer(void *arg)
{
  raced++;
  return arg != NULL;
}

static int one(void *arg)
{
  mtx_lock(&a);
  mtx_lock(&b);
  mtx_unlock(&b);
  mtx_unlock(&a);
  return arg != NULL;
}

static int two(void *arg)
{
  mtx_lock(&b);
  mtx_lock(&a);
  mtx_unlock(&a);
  mtx_unlock(&b);
  return arg != NULL;
}

static int waiter(void *arg)
{
  mtx_lock(&a);
  if (!strcmp(what, "signal"))
    cnd_wait(&ready, &a);
  else
    while (!go) cnd_wait(&ready, &a);
  mtx_unlock(&a);
  return (int)(intptr_t)arg;
}

static int worker(void *arg)
{
  static thread_local int one_ = 1;
  call_once(&once, init);
  tss_set(key, &one_);
  assert(tss_get(key) == &one_);
  mtx_lock(&rec);
  assert(mtx_trylock(&rec) == thrd_success);
  n++;
  mtx_unlock(&rec);
  mtx_unlock(&rec);
  thrd_yield();
  if (arg) thrd_exit(7);
  return 5;
}

static int late(void *arg)
{
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  t.tv_sec++;
  assert(mtx_trylock(&timed) == thrd_busy);
  assert(mtx_timedlock(&timed, &t) == thrd_timedout);
  mtx_lock(&a);
  timespec_get(&t, TIME_UTC);
  t.tv_sec++;
  assert(cnd_timedwait(&ready, &a, &t) == thrd_timedout);
  mtx_unlock(&a);
  return arg != NULL;
}

static void pair(thrd_start_t f, thrd_start_t g)
{
  thrd_t x, y;
  assert(thrd_create(&x, f, NULL) == thrd_success && thrd_create(&y, g, NULL) == thrd_success);
  assert(thrd_join(x, NULL) == thrd_success && thrd_join(y, NULL) == thrd_success);
}

int main(int argc, char **argv)
{
  thrd_t t, u;
  int res = 0;
  if (argc > 1) what = argv[1];
  mtx_init(&a, mtx_plain);
  mtx_init(&b, mtx_plain);
  mtx_init(&rec, mtx_plain | mtx_recursive);
  mtx_init(&timed, mtx_timed);
  cnd_init(&ready);
  assert(tss_create(&key, drop) == thrd_success);
  if (!strcmp(what, "race")) pair(racer, racer);
  if (!strcmp(what, "order")) pair(one, two);
  if (!strcmp(what, "unlock")) mtx_unlock(&a);
  if (!strcmp(what, "destroy")) {
    mtx_lock(&a);
    mtx_destroy(&a);
  }
  thrd_create(&t, waiter, (void *)3L);
  mtx_lock(&a);
  go = 1;
  cnd_signal(&ready);
  mtx_unlock(&a);
  assert(thrd_join(t, &res) == thrd_success && res == 3);
  thrd_create(&t, worker, NULL);
  thrd_create(&u, worker, &key);
  assert(thrd_join(t, &res) == thrd_success && res == 5);
  assert(thrd_join(u, &res) == thrd_success && res == 7);
  assert(n == 2 && gone == 2 && inits == 1);
  mtx_lock(&timed);
  thrd_create(&t, late, NULL);
  thrd_join(t, NULL);
  mtx_unlock(&timed);
  struct timespec hour = {3600, 0};
  assert(thrd_sleep(&hour, NULL) == 0);
  thrd_create(&t, racer, NULL);
  assert(thrd_detach(t) == thrd_success);
  cnd_broadcast(&ready);
  cnd_destroy(&ready);
  mtx_destroy(&b);
  tss_delete(key);
  return 0;
}
