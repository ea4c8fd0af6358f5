/* cond.c: condition variables. Runs in the tested process.
 *
 * A wait is two steps. WAIT releases the mutex and queues the thread. WAKE, enabled once the thread was woken and
 * the mutex is free, reacquires the mutex. Which waiter a signal wakes is a choice. A spurious wake-up (option) is
 * a choice at the WAIT: not to sleep at all. Since the thread can be delayed arbitrarily before its WAKE, that
 * covers a wake-up at any later moment too. Without the option, one wait of each thread may end so, if it has no time
 * limit. When the thread comes back to the same wait and has written nothing, it is in a loop that checks what it
 * waits for: such a place is learned (like loops that wait by reading, and in the same log), and has no spurious
 * wake-ups from then on. A timed wait whose time is over (with --timeouts=any: every one) has a step CTIMEOUT in
 * between, enabled until the thread is woken. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

#define DESTROYED 0x44454144u

/* A word that only libc's own functions use, for a mark that an initialisation overwrites, a static one too. */
static unsigned *mark(pthread_cond_t *c) { return &c->__data.__g_signals[1]; }

static void touch(pthread_cond_t *c, uint64_t pc) {
  hd__touch_object(c, sizeof *c, HD_OBJ_COND, *mark(c) == DESTROYED, pc);
}

/* The thread no longer waits for the condition: now it waits for its mutex. */
static void to_mutex(struct hd_thread *t) {
  struct hd_obj *m = t->wait.mutex;
  t->cancel.at_point = false; /* it was woken: then it returns, and a signal is not lost */
  t->op.kind = HD_OP_WAKE;
  t->op.object = m->addr;
  hd__pend(m, t);
  if (hd__mutex_free(m->addr))
    hd__enable(t);
  else
    hd__disable(t);
}

void hd__time_out(struct hd_thread *t) {
  hd__deadline_over(t);
  t->timer.expired = true;
  struct hd_obj *o = t->wait.at;
  if (o && o->kind == HD_OBJ_COND) {
    hd__dequeue(o, t);
    if (!hd__mutex_free(t->wait.mutex->addr))
      hd__inexact(HD_INEXACT_TIMEOUT_LOCKED, t->op.pc); /* the search does not know this order exactly */
    to_mutex(t);
  } else {
    if (o && o->kind == HD_OBJ_FUTEX) hd__dequeue(o, t);
    hd__enable(t);
  }
}

/* The running thread waits for its mutex. */
static void reacquire(struct hd_thread *t) {
  do {
    to_mutex(t);
    hd__step();
  } while (hd__interrupted());
}

/* The running thread has given up. Returns true. */
static bool leave_queue(struct hd_obj *o, struct hd_thread *t) {
  hd__event(0);
  t->timer.expired = false;
  hd__dequeue(o, t);
  reacquire(t);
  return true;
}

/* If a handler has run: it returns, as if woken (POSIX), or because its time was over. */
static bool handled(struct hd_thread *t, bool *late) {
  if (!hd__interrupted()) return false;
  *late = t->sig.expired || t->op.kind == HD_OP_CTIMEOUT;
  reacquire(t);
  return true;
}

/* The thread may give up as long as it has not been woken: that is an operation on the condition. Returns true when it
 * did; either way it waits for its mutex next. */
static bool gives_up(struct hd_obj *o, struct hd_thread *t, clockid_t clock, const struct timespec *at) {
  bool late;
  t->op.kind = HD_OP_CTIMEOUT;
  hd__enable(t);
  hd__step();
  if (handled(t, &late)) return late && hd__early(true, clock, at);
  if (t->op.kind == HD_OP_WAKE) return false;
  hd__early(true, clock, at);
  return leave_queue(o, t);
}

/* Cancelled while it waited: it holds its mutex again when its cleanup handlers run. */
_Noreturn static void cancel_wait(pthread_mutex_t *m, unsigned count, uint64_t pc) {
  rt.cur->wait.woke = false;
  rt.cur->cancel.disabled = true;
  hd__mutex_lock(m, pc);
  m->__data.__count = count;
  hd__cancel();
}

/* ---- spurious wake-ups ---- */

/* By default they are explored when everything else is covered: a bug that needs none is found without. That this has
 * begun is an entry of the log of waiting loops, so that a schedule is replayed with it. */
#define EXPLORED (HD_VISIBLE_SPURIOUS & ~HD_VISIBLE_SPIN)

static bool may_wake(const struct hd_thread *t, bool timed, uint64_t site) {
  if (rt.config->spurious) return true;
  return !timed && !t->wait.spurious && hd__spin_known(EXPLORED) && !hd__spin_known(site);
}

bool hd__cond_explore(void) {
  if (rt.config->spurious || !rt.shared->waited || hd__spin_known(EXPLORED)) return false;
  hd__learn(EXPLORED);
  return true;
}

static void note_spurious(struct hd_thread *t, uint64_t cond, uint64_t site) {
  t->wait.spurious++;
  t->wait.site = site;
  t->wait.cond = cond;
  t->wait.writes = t->spin.writes;
}

/* The running thread is about to wait. If its last wait was this one, and ended by itself, that made no difference. */
static void check_loop(struct hd_thread *t, uint64_t cond, uint64_t site) {
  if (t->wait.site != site || t->wait.cond != cond || t->wait.writes != t->spin.writes) return;
  t->wait.site = 0;
  hd__learn(site);
}

int hd__cond_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *at,
                  uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__reads(at, sizeof *at, pc);
  struct timespec limit = at ? *at : (struct timespec){0, 0};
  if (at) at = &limit;
  touch(c, pc);
  if (!hd__mutex_owned(m)) {
    hd__mutex_not_owned(m, pc);
    return EPERM;
  }
  if (at && hd__bad_time(at)) return EINVAL;
  uint64_t site = hd__user_pc(pc, (uint64_t)__builtin_frame_address(0));
  check_loop(t, (uint64_t)c, site);
  struct hd_obj *o = hd__obj((uint64_t)c, HD_OBJ_COND);
  hd__test_cancel();
  hd__point_cancel(at ? HD_OP_TIMEDWAIT : HD_OP_WAIT, (uint64_t)c, pc);
  t->op.wait.mutex = hd__canonical((uint64_t)m);
  if (!at) rt.shared->waited = 1;
  bool spurious = may_wake(t, at != NULL, site) && hd__choose(2) == 1;
  hd__event(0);
  unsigned count = m->__data.__count; /* a recursive mutex is released completely */
  t->wait.mutex = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__disable(t);
  hd__mutex_leave(m);
  bool early = false, gives = !spurious && at && hd__gives_up(clock, at, pc);
  t->wait.woke = spurious;
  if (spurious)
    to_mutex(t);
  else
    hd__enqueue(o, t);
  if (gives) {
    early = gives_up(o, t, clock, at);
  } else {
    if (at && !spurious) hd__deadline_set(t, clock, at);
    if (hd__step_cancel()) cancel_wait(m, count, pc);
    if (!handled(t, &early) && t->op.kind == HD_OP_CTIMEOUT)
      early = leave_queue(o, t); /* its time came together with another one's */
  }
  t->wait.woke = false;
  hd__deadline_clear(t);
  bool late = t->timer.expired;
  t->timer.expired = false;
  hd__event(late ? HD_EV_FAILED : 0);
  int e = hd__mutex_return(m, pc);
  m->__data.__count = count;
  if (spurious) note_spurious(t, (uint64_t)c, site);
  return e ? e : late || early ? ETIMEDOUT : 0;
}

static void wake(struct hd_obj *o, struct hd_thread *t) {
  if (t->vc.time < rt.cur->vc.time) t->vc.time = rt.cur->vc.time; /* it is not woken before that */
  hd__dequeue(o, t);
  hd__deadline_clear(t);
  t->timer.expired = false;
  to_mutex(t);
}

uint64_t hd__late_waiter(const struct hd_thread *t) {
  if (!t || t->op.kind != HD_OP_CTIMEOUT) return 0;
  if (t->id >= 64) hd__inexact(HD_INEXACT_EARLY_TIMEOUTS, t->op.pc); /* the operation names only so many */
  return t->id < 64 ? 1ull << t->id : 0;
}

int hd__cond_signal(pthread_cond_t *c, uint64_t pc) {
  touch(c, pc);
  hd__point_open(HD_OP_SIGNAL, (uint64_t)c, 0, pc);
  struct hd_obj *o = hd__obj((uint64_t)c, HD_OBJ_COND);
  struct hd_thread *t = o->nqueue ? hd__waiter(o, hd__choose(o->nqueue)) : NULL;
  rt.cur->op.wake.thread = t ? t->id + 1u : 0;
  rt.cur->op.wake.late = hd__late_waiter(t);
  hd__event(0);
  if (t)
    wake(o, t);
  else
    o->signals++;
  return 0;
}

int hd__cond_broadcast(pthread_cond_t *c, uint64_t pc) {
  touch(c, pc);
  hd__point_open(HD_OP_BROADCAST, (uint64_t)c, 0, pc);
  struct hd_obj *o = hd__obj((uint64_t)c, HD_OBJ_COND);
  rt.cur->op.wake.count = o->nqueue;
  for (const struct hd_thread *t = o->queue; t; t = t->wait.next) rt.cur->op.wake.late |= hd__late_waiter(t);
  hd__event(0);
  if (!o->nqueue) o->signals++;
  while (o->nqueue) wake(o, o->queue);
  return 0;
}

/* Whoever waits already is never woken: libc forgets them too. */
int hd__cond_init(pthread_cond_t *c, const pthread_condattr_t *a, uint64_t pc) {
  hd__reads(a, sizeof *a, pc);
  struct hd_obj *o = hd__init_object(HD_OP_CINIT, c, sizeof *c, 0, pc);
  o->queue = o->queue_last = NULL;
  o->nqueue = o->signals = 0;
  return real_pthread_cond_init(c, a);
}

int hd__cond_destroy(pthread_cond_t *c, uint64_t pc) {
  touch(c, pc);
  hd__point(HD_OP_CDESTROY, (uint64_t)c, 0, pc);
  if (hd__obj((uint64_t)c, HD_OBJ_COND)->nqueue) {
    hd__report_simple(HD_KIND_DESTROY_BUSY, (uint64_t)c, pc, "a thread waits on the condition variable",
                      false);
    return EBUSY;
  }
  *mark(c) = DESTROYED;
  hd__object_destroyed((uint64_t)c, HD_OBJ_COND);
  return 0;
}

static clockid_t clock_of(const pthread_cond_t *c) {
  return c->__data.__wrefs & 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

HD_EXPORT int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *a) {
  return HD_LEAVE(hot.active ? hd__cond_init(c, a, HD_CALLER) : real_pthread_cond_init(c, a));
}

HD_EXPORT int pthread_cond_destroy(pthread_cond_t *c) {
  return HD_LEAVE(hot.active ? hd__cond_destroy(c, HD_CALLER) : real_pthread_cond_destroy(c));
}

HD_EXPORT int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m) {
  return HD_LEAVE(hot.active ? hd__cond_wait(c, m, 0, NULL, HD_CALLER) : real_pthread_cond_wait(c, m));
}

HD_EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *at) {
  return HD_LEAVE(hot.active ? hd__cond_wait(c, m, clock_of(c), at, HD_CALLER)
                             : real_pthread_cond_timedwait(c, m, at));
}

HD_EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
                                     const struct timespec *at) {
  return HD_LEAVE(hot.active ? hd__cond_wait(c, m, clock, at, HD_CALLER)
                             : real_pthread_cond_clockwait(c, m, clock, at));
}

HD_EXPORT int pthread_cond_signal(pthread_cond_t *c) {
  return HD_LEAVE(hot.active ? hd__cond_signal(c, HD_CALLER) : real_pthread_cond_signal(c));
}

HD_EXPORT int pthread_cond_broadcast(pthread_cond_t *c) {
  return HD_LEAVE(hot.active ? hd__cond_broadcast(c, HD_CALLER) : real_pthread_cond_broadcast(c));
}
