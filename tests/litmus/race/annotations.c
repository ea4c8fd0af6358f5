// Orders, locks and fibers that a program declares to ThreadSanitizer: they order memory, and each of their orders is explored.
// native: no
// expect: exact executions=2
// argv: order
// expect: kind=data-race
// argv: order plain
// expect: exact executions=11
// argv: lock
// expect: kind=data-race
// argv: lock plain
// expect: exact executions=1
// argv: ignore
// expect: kind=assertion
// argv: ignore middle
// expect: exact executions=2
// argv: benign
// expect: exact executions=2
// argv: fiber
// expect: kind=data-race
// argv: fiber plain
#include "litmus.h"
#include <stdatomic.h>

#define AT __FILE__, __LINE__
void AnnotateHappensBefore(const char *, int, const volatile void *);
void AnnotateHappensAfter(const char *, int, const volatile void *);
void AnnotateIgnoreWritesBegin(const char *, int);
void AnnotateIgnoreWritesEnd(const char *, int);
void AnnotateBenignRaceSized(const char *, int, const volatile void *, size_t, const char *);
void __tsan_mutex_create(void *, unsigned);
void __tsan_mutex_destroy(void *, unsigned);
void __tsan_mutex_pre_lock(void *, unsigned);
void __tsan_mutex_post_lock(void *, unsigned, int);
int __tsan_mutex_pre_unlock(void *, unsigned);
void __tsan_mutex_post_unlock(void *, unsigned);
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void *);
void __tsan_switch_to_fiber(void *, unsigned);
void __tsan_set_fiber_name(void *, const char *);
enum { TRY = 1 << 4, TRY_FAILED = 1 << 5, NO_SYNC = 1 };

static const char *what;
static int plain, middle;
static int data;
static volatile int wide;
static atomic_int flag;
static void *fiber;

static int is(const char *name) { return !strcmp(what, name); }

static int try_lock(void)
{
  if (!plain) __tsan_mutex_pre_lock(&flag, TRY);
  int got = !atomic_exchange_explicit(&flag, 1, memory_order_relaxed);
  if (!plain) __tsan_mutex_post_lock(&flag, TRY | (got ? 0 : TRY_FAILED), 1);
  return got;
}

static void unlock(void)
{
  if (!plain) __tsan_mutex_pre_unlock(&flag, 0);
  atomic_store_explicit(&flag, 0, memory_order_relaxed);
  if (!plain) __tsan_mutex_post_unlock(&flag, 0);
}

static void work(void)
{
  if (!try_lock()) return;
  data++;
  unlock();
}

static void run_fiber(void)
{
  void *own = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber, plain ? NO_SYNC : 0);
  data++;
  __tsan_switch_to_fiber(own, plain ? NO_SYNC : 0);
}

static void *worker(void *arg)
{
  if (is("order")) {
    data = 1;
    if (!plain) AnnotateHappensBefore(AT, &data);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
  }
  if (is("lock")) work();
  if (is("ignore")) {
    AnnotateIgnoreWritesBegin(AT);
    wide = 1;
    wide = 2;
    AnnotateIgnoreWritesEnd(AT);
  }
  if (is("benign")) data = 1;
  if (is("fiber")) {
    run_fiber();
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
  }
  return arg;
}

int main(int argc, char **argv)
{
  what = argc > 1 ? argv[1] : "order";
  plain = argc > 2 && !strcmp(argv[2], "plain");
  middle = argc > 2 && !strcmp(argv[2], "middle");
  __tsan_mutex_create(&flag, 0);
  fiber = __tsan_create_fiber(0);
  __tsan_set_fiber_name(fiber, "fiber");
  if (is("benign")) AnnotateBenignRaceSized(AT, &data, sizeof data, "a statistic");
  pthread_t t = spawn(worker, NULL);
  int done = atomic_load_explicit(&flag, memory_order_relaxed);
  if (is("order") && done) {
    AnnotateHappensAfter(AT, &data);
    assert(data == 1);
  }
  if (is("lock")) work();
  if (is("ignore")) assert(!middle || wide != 1);
  if (is("benign") && data > 1) abort();
  if (is("fiber") && done) run_fiber();
  pthread_join(t, NULL);
  __tsan_mutex_destroy(&flag, 0);
  __tsan_destroy_fiber(fiber);
  return 0;
}
