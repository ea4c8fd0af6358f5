/* barrier.c: barriers. Runs in the tested process.
 *
 * A wait is two steps: BARRIER, to arrive, and BLEAVE, enabled once enough threads have arrived. The order of
 * arrival does not matter: which thread gets PTHREAD_BARRIER_SERIAL_THREAD is a choice, made by the first of them
 * (in the order of hd__thread_before) when it leaves; the others leave after that. Threads that do not use the result, as
 * the compiler's plug-in has seen, are not told apart. When more threads use the barrier than pass it together,
 * the order decides which threads pass together. An arrival that is not ordered after the previous round shows
 * this. It is learned like contended memory: the barrier becomes visible memory. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

/* The part of libc's layout that is used here. */
struct barrier {
  uint32_t in, round, count;
};

static uint32_t needed(const pthread_barrier_t *b) { return ((const struct barrier *)b)->count; }

static bool covers(const struct hd_vc *v, const struct hd_vc *w) {
  for (uint32_t i = 0; i < w->n; i++)
    if (hd_vc_get(v, i) < w->c[i]) return false;
  return true;
}

/* The thread may leave, now or after the handler that it runs. */
static void let_go(struct hd_thread *t) {
  t->barrier.go = true;
  if (t->op.kind == HD_OP_BLEAVE) hd__enable(t);
}

/* All have arrived: the first of them may leave. */
static void pass(struct hd_obj *o) {
  struct hd_thread *first = o->queue;
  for (struct hd_thread *t = o->queue; t; t = t->barrier.next) {
    hd_vc_join(&rt.arena, &t->vc, &o->vc);
    if (hd__thread_before(t, first)) first = t;
  }
  first->barrier.leads = o->count;
  if (first->op.kind == HD_OP_BLEAVE) first->op.size = o->count;
  hd_vc_copy(&rt.arena, &o->before, &o->vc);
  hd_vc_clear(&o->vc);
  first->barrier.round = o->queue;
  o->queue = NULL;
  o->count = 0;
  let_go(first);
}

/* The first to leave chooses the serial thread and releases the others. */
static void release_round(struct hd_thread *first) {
  struct hd_thread *round = first->barrier.round;
  unsigned looking = 0;
  for (struct hd_thread *t = round; t; t = t->barrier.next) looking += !t->barrier.unused;
  unsigned special = hd__choose(looking < first->op.size ? looking + 1 : looking);
  for (struct hd_thread *t = round; t; t = t->barrier.next) {
    unsigned rank = 0;
    for (struct hd_thread *u = round; u; u = u->barrier.next)
      rank += !u->barrier.unused && hd__thread_before(u, t);
    t->barrier.serial = !t->barrier.unused && rank == special;
  }
  for (struct hd_thread *t = round; t; t = t->barrier.next)
    if (t != first) let_go(t);
}

static int wait(pthread_barrier_t *b, bool unused, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  t->barrier.unused = unused;
  hd__touch_object(b, sizeof *b, HD_OBJ_BARRIER, needed(b) == 0, pc);
  struct hd_obj *o = hd__obj((uint64_t)b, HD_OBJ_BARRIER);
  t->op = (struct hd_op){.kind = HD_OP_BARRIER,
                         .thread = t->id,
                         .size = needed(b),
                         .object = (uint64_t)b,
                         .pc = pc,
                         .barrier.ordered = hd__shadow_visible((uint64_t)b, 8)};
  hd__step();
  hd__event(0);
  if (!covers(&t->vc, &o->before)) hd__shadow_show((uint64_t)b, 8);
  hd_vc_join(&rt.arena, &o->vc, &t->vc);
  hd__new_segment(t);
  t->barrier.next = o->queue;
  t->barrier.go = false;
  t->barrier.leads = 0;
  o->queue = t;
  o->signals = ++o->count << 16 | needed(b);
  if (o->count >= needed(b)) pass(o);
  do { /* a handler may run meanwhile: it keeps its place */
    t->op = (struct hd_op){
        .kind = HD_OP_BLEAVE, .thread = t->id, .size = t->barrier.leads, .object = o->addr, .pc = pc};
    t->wait.at = o; /* for reports */
    if (!t->barrier.go) hd__disable(t);
    hd__step();
    t->wait.at = NULL;
  } while (hd__interrupted());
  if (t->op.size) release_round(t);
  hd__event(0);
  return t->barrier.serial ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
}

HD_EXPORT int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *a, unsigned n) {
  READS(a, sizeof *a);
  if (hot.active && n) hd__init_object(HD_OP_BINIT, b, sizeof *b, 0, HD_CALLER);
  return real_pthread_barrier_init(b, a, n);
}

HD_EXPORT int pthread_barrier_destroy(pthread_barrier_t *b) {
  if (!hot.active) return real_pthread_barrier_destroy(b);
  uint64_t pc = HD_CALLER;
  hd__point(HD_OP_BDESTROY, (uint64_t)b, 0, pc);
  struct hd_obj *o = hd__obj((uint64_t)b, HD_OBJ_BARRIER);
  if (o->count) {
    hd__report_lock(HD_KIND_DESTROY_BUSY, o, HD_OP_BDESTROY, pc, "a thread waits at the barrier");
    return EBUSY;
  }
  ((struct barrier *)b)->count = 0;
  hd__object_destroyed((uint64_t)b, HD_OBJ_BARRIER);
  return 0;
}

HD_EXPORT int pthread_barrier_wait(pthread_barrier_t *b) {
  return HD_LEAVE(hot.active ? wait(b, false, HD_CALLER) : real_pthread_barrier_wait(b));
}

/* In the place of a call whose result nobody uses (src/plugin). */
HD_EXPORT int __heddle_barrier_wait(pthread_barrier_t *b);
int __heddle_barrier_wait(pthread_barrier_t *b) {
  return HD_LEAVE(hot.active ? wait(b, true, HD_CALLER) : real_pthread_barrier_wait(b));
}
