/* rwlock.c: read-write locks. Runs in the tested process.
 *
 * The lock's own memory has the number of readers and whether a thread writes, in libc's field and format: before main, and
 * in children, libc's own functions use it. They leave PHASE behind in a free lock. Which threads the readers are,
 * and how often each holds the lock, is recorded here. There is no queue: any thread that can take the lock may be the
 * next, so the schedules include those of every preference.
 *
 * With PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP a reader waits while a writer waits, also one that has the lock
 * already. Such a lock has a gate, a read-write lock of its own at the next address: a writer holds it while it waits
 * for the lock, and a reader passes through it first. Nobody can tell a reader that has passed from one that has the
 * lock, or a writer that waits at the gate from one that has not come yet. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

#define PHASE 1u   /* the last one was a writer */
#define WRITING 2u /* with PHASE */
#define READER 8u
#define DESTROYED 0x44454144u

static unsigned *state(pthread_rwlock_t *l) { return &l->__data.__readers; }

/* 0 if it is free. */
static unsigned taken(pthread_rwlock_t *l) { return *state(l) & ~(READER - 1 - WRITING); }

static void touch(const pthread_rwlock_t *l, uint64_t pc) {
  hd__touch_object(l, sizeof *l, HD_OBJ_RWLOCK, l->__data.__pad4 == DESTROYED, pc);
}

/* The scheduler's object of the lock. A lock that was initialised again has no holders. */
static struct hd_obj *object(pthread_rwlock_t *l) {
  struct hd_obj *o = hd__obj((uint64_t)l, HD_OBJ_RWLOCK);
  if (!taken(l)) {
    o->owner = HD_NOBODY;
    o->holders = NULL;
  }
  return o;
}

static struct hd_holder *reader(const struct hd_obj *o, unsigned thread) {
  struct hd_holder *h = o->holders;
  while (h && h->thread != thread) h = h->next;
  return h;
}

static bool can(pthread_rwlock_t *l, bool write) { return write ? !taken(l) : !(*state(l) & WRITING); }

static bool has_gate(const pthread_rwlock_t *l) {
  return l->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP;
}

/* The state has changed: enables or disables those that request the lock. */
static void enable_if(struct hd_obj *o, bool readers, bool writers) {
  for (struct hd_thread *t = o->pend; t; t = t->wait.next) {
    bool write = hd_op_effect(t->op.kind, 0) == HD_EFF_ACQUIRE;
    if (t == rt.cur || t->timer.expired) continue;
    if (write ? writers : readers)
      hd__enable(t);
    else
      hd__disable(t);
  }
}

static void refresh(struct hd_obj *o, pthread_rwlock_t *l) { enable_if(o, can(l, false), can(l, true)); }

/* ---- the gate of a lock that prefers writers; it orders no memory ---- */

static struct hd_obj *gate_of(pthread_rwlock_t *l) { return hd__obj((uint64_t)l + 1, HD_OBJ_RWLOCK); }

static unsigned kind_of(bool write, bool timed) {
  if (timed) return write ? HD_OP_TIMEDWRLOCK : HD_OP_TIMEDRDLOCK;
  return write ? HD_OP_WRLOCK : HD_OP_RDLOCK;
}

/* Requests an operation that enters the gate, or the lock: true when its time was over. A macro, since `can_now` is asked
 * again after a handler. */
#define request(o, write, can_now, until, pc) hd__request(o, kind_of(write, until), can_now, until, pc)

static bool gate_free(const struct hd_obj *g, bool write) {
  return g->owner == HD_NOBODY && !(write && g->count);
}

/* A reader is in it, and leaves it again. */
static void pass_gate(struct hd_obj *g, uint64_t pc) {
  g->count++;
  enable_if(g, true, false);
  hd__point(HD_OP_RDUNLOCK, g->addr, 0, pc);
  g->count--;
  enable_if(g, gate_free(g, false), gate_free(g, true));
}

bool hd__gate_enter(struct hd_obj *g, bool write, const struct hd_until *until, uint64_t pc) {
  bool late = request(g, write, gate_free(g, write), until, pc) && !gate_free(g, write);
  hd__event(late ? HD_EV_FAILED : 0);
  if (late) return false;
  if (write) {
    g->owner = rt.cur->id;
    g->site = hd__site_here(pc);
    enable_if(g, false, false);
  } else {
    pass_gate(g, pc);
  }
  return true;
}

void hd__gate_leave(struct hd_obj *g, uint64_t pc) {
  hd__point(HD_OP_WRUNLOCK, g->addr, 0, pc);
  g->owner = HD_NOBODY;
  enable_if(g, true, true);
}

/* A reader that does not wait: returns false when a writer is in its way. */
static bool try_gate(pthread_rwlock_t *l, uint64_t pc) {
  struct hd_obj *g = gate_of(l);
  hd__point_open(HD_OP_TRYRDLOCK, g->addr, 0, pc);
  bool busy = g->owner != HD_NOBODY;
  hd__event(busy ? HD_EV_FAILED : 0);
  if (!busy) pass_gate(g, pc);
  return !busy;
}

static void take(struct hd_obj *o, pthread_rwlock_t *l, bool write, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (write) {
    *state(l) = WRITING | PHASE;
    o->owner = t->id;
    o->site = hd__site_here(pc);
  } else {
    struct hd_holder *h = reader(o, t->id);
    if (!h) {
      h = hd_arena_get(&rt.arena, sizeof *h);
      HD_BUG_ON(!h);
      *h = (struct hd_holder){.thread = t->id, .next = o->holders};
      o->holders = h;
    }
    *state(l) = taken(l) + READER;
    h->count = 1;
    h->site = hd__site_here(pc);
  }
  refresh(o, l);
  o->seen = t->vc.time;
  hd__acquire(&o->vc);
  if (write) hd__acquire(&o->before);
}

/* The thread holds the lock already: returns true when that decides, with the result in *e. A reader that wants to write
 * waits for itself: that is a deadlock, unless it gives up. */
static bool again(struct hd_obj *o, bool write, bool try, int *e) {
  struct hd_holder *h = reader(o, rt.cur->id);
  if (o->owner == rt.cur->id) {
    *e = try ? EBUSY : EDEADLK;
    return true;
  }
  if (!h || !h->count || write) return false;
  h->count++;
  *e = 0;
  return true;
}

/* The running thread finds that it cannot have the lock. */
static void see_taken(const struct hd_obj *o, pthread_rwlock_t *l) {
  if (o->seen > rt.cur->vc.time) rt.cur->vc.time = o->seen;
  hd__spin_read((uint64_t)state(l), sizeof *state(l));
}

/* Takes the lock if that is possible at once. */
static int take_at_once(struct hd_obj *o, pthread_rwlock_t *l, bool write, int busy, uint64_t pc) {
  hd__point_open(write ? HD_OP_TRYWRLOCK : HD_OP_TRYRDLOCK, (uint64_t)l, 0, pc);
  bool cannot = !can(l, write);
  hd__event(cannot ? HD_EV_FAILED : 0);
  if (cannot)
    see_taken(o, l);
  else
    take(o, l, write, pc);
  return cannot ? busy : 0;
}

static int lock_for(pthread_rwlock_t *l, bool write, const struct hd_until *until, uint64_t pc) {
  int e = 0;
  touch(l, pc);
  struct hd_obj *o = object(l);
  bool gate = has_gate(l), at_once = until && hd__at_once(until->clock, until->at, pc);
  if (o->owner == rt.cur->id) return EDEADLK;
  if (at_once && hd__spin_check((uint64_t)state(l), HD_SPIN_OTHER, pc)) return ETIMEDOUT;
  if (gate && at_once && !write && !try_gate(l, pc))
    return hd__early(true, until->clock, until->at), ETIMEDOUT;
  if (gate && !at_once && !hd__gate_enter(gate_of(l), write, until, pc)) return ETIMEDOUT;
  if (again(o, write, false, &e)) return e;
  if (at_once) {
    e = take_at_once(o, l, write, ETIMEDOUT, pc);
    hd__early(e != 0, until->clock, until->at);
    return e;
  }
  bool late = request(o, write, can(l, write), until, pc) && !can(l, write);
  hd__event(late ? HD_EV_FAILED : 0);
  if (!late) take(o, l, write, pc);
  if (gate && write) hd__gate_leave(gate_of(l), pc);
  return late ? ETIMEDOUT : 0;
}

int hd__rwlock_lock(pthread_rwlock_t *l, bool write, uint64_t pc) {
  hd__spin_lock((uint64_t)l, pc);
  return lock_for(l, write, NULL, pc);
}

static int lock_until(pthread_rwlock_t *l, bool write, clockid_t clock, const struct timespec *at,
                      uint64_t pc) {
  hd__access_range((uint64_t)at, sizeof *at, 0, pc);
  struct timespec limit = *at;
  if (hd__bad_time(&limit)) return EINVAL;
  return lock_for(l, write, &(struct hd_until){clock, &limit}, pc);
}

static int try_for(pthread_rwlock_t *l, bool write, uint64_t pc) {
  int e = 0;
  touch(l, pc);
  struct hd_obj *o = object(l);
  if (o->owner == rt.cur->id) return EBUSY;
  if (hd__spin_check((uint64_t)state(l), HD_SPIN_OTHER, pc)) return EBUSY;
  if (!write && has_gate(l) && !try_gate(l, pc)) return EBUSY;
  if (again(o, write, true, &e)) return e;
  return take_at_once(o, l, write, EBUSY, pc);
}

static int unlock(pthread_rwlock_t *l, uint64_t pc) {
  touch(l, pc);
  struct hd_obj *o = object(l);
  struct hd_holder *h = reader(o, rt.cur->id);
  bool writes = o->owner == rt.cur->id;
  if (!writes && (!h || !h->count)) {
    hd__report_lock(HD_KIND_NOT_OWNER, o, HD_OP_RDUNLOCK, pc,
                    taken(l) ? "other threads hold this read-write lock"
                             : "no thread holds this read-write lock");
    return 0; /* libc's lock would be corrupt from here on */
  }
  if (!writes && --h->count) return 0;
  if (!writes) h->count = 1; /* until this operation is done */
  hd__point(writes ? HD_OP_WRUNLOCK : HD_OP_RDUNLOCK, (uint64_t)l, 0, pc);
  if (writes) {
    *state(l) = 0;
    o->owner = HD_NOBODY;
    hd__release(&o->vc);
  } else {
    *state(l) -= READER;
    h->count = 0;
    hd_vc_join(&rt.arena, &o->before, &rt.cur->vc); /* for the next writer; readers do not order each other */
    hd__new_segment(rt.cur);
  }
  refresh(o, l);
  return 0;
}

HD_EXPORT int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *a) {
  if (!hot.active) return real_pthread_rwlock_init(l, a);
  READS(a, sizeof *a);
  struct hd_obj *o = hd__init_object(HD_OP_RWINIT, l, sizeof *l, 0, HD_CALLER);
  o->holders = NULL;
  int e = real_pthread_rwlock_init(l, a);
  refresh(o, l);
  return e;
}

HD_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *l) {
  if (!hot.active) return real_pthread_rwlock_destroy(l);
  uint64_t pc = HD_CALLER;
  touch(l, pc);
  hd__point(HD_OP_RWDESTROY, (uint64_t)l, 0, pc);
  struct hd_obj *o = object(l);
  if (taken(l) || o->pend) {
    hd__report_lock(HD_KIND_DESTROY_BUSY, o, HD_OP_RWDESTROY, pc,
                    taken(l) ? "the read-write lock is locked" : "a thread is about to lock it");
    return EBUSY;
  }
  l->__data.__pad4 = DESTROYED;
  hd__object_destroyed((uint64_t)l, HD_OBJ_RWLOCK);
  return 0;
}

int HD_IN(pthread_rwlock_rdlock)(pthread_rwlock_t *l);
int HD_IN(pthread_rwlock_rdlock)(pthread_rwlock_t *l) {
  return HD_LEAVE(
      hot.active ? hd__rwlock_lock(l, false, HD_CALLER)
                 : hd__constructor_takes(HD_CONSTRUCTED_READER, l, real_pthread_rwlock_rdlock(l), HD_CALLER));
}

int HD_IN(pthread_rwlock_wrlock)(pthread_rwlock_t *l);
int HD_IN(pthread_rwlock_wrlock)(pthread_rwlock_t *l) {
  return HD_LEAVE(
      hot.active ? hd__rwlock_lock(l, true, HD_CALLER)
                 : hd__constructor_takes(HD_CONSTRUCTED_WRITER, l, real_pthread_rwlock_wrlock(l), HD_CALLER));
}

int HD_IN(pthread_rwlock_timedrdlock)(pthread_rwlock_t *l, const struct timespec *at);
int HD_IN(pthread_rwlock_timedrdlock)(pthread_rwlock_t *l, const struct timespec *at) {
  return HD_LEAVE(hot.active ? lock_until(l, false, CLOCK_REALTIME, at, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_READER, l,
                                                     real_pthread_rwlock_timedrdlock(l, at), HD_CALLER));
}

int HD_IN(pthread_rwlock_timedwrlock)(pthread_rwlock_t *l, const struct timespec *at);
int HD_IN(pthread_rwlock_timedwrlock)(pthread_rwlock_t *l, const struct timespec *at) {
  return HD_LEAVE(hot.active ? lock_until(l, true, CLOCK_REALTIME, at, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_WRITER, l,
                                                     real_pthread_rwlock_timedwrlock(l, at), HD_CALLER));
}

int HD_IN(pthread_rwlock_clockrdlock)(pthread_rwlock_t *l, clockid_t clock, const struct timespec *at);
int HD_IN(pthread_rwlock_clockrdlock)(pthread_rwlock_t *l, clockid_t clock, const struct timespec *at) {
  return HD_LEAVE(hot.active
                      ? lock_until(l, false, clock, at, HD_CALLER)
                      : hd__constructor_takes(HD_CONSTRUCTED_READER, l,
                                              real_pthread_rwlock_clockrdlock(l, clock, at), HD_CALLER));
}

int HD_IN(pthread_rwlock_clockwrlock)(pthread_rwlock_t *l, clockid_t clock, const struct timespec *at);
int HD_IN(pthread_rwlock_clockwrlock)(pthread_rwlock_t *l, clockid_t clock, const struct timespec *at) {
  return HD_LEAVE(hot.active
                      ? lock_until(l, true, clock, at, HD_CALLER)
                      : hd__constructor_takes(HD_CONSTRUCTED_WRITER, l,
                                              real_pthread_rwlock_clockwrlock(l, clock, at), HD_CALLER));
}

int HD_IN(pthread_rwlock_tryrdlock)(pthread_rwlock_t *l);
int HD_IN(pthread_rwlock_tryrdlock)(pthread_rwlock_t *l) {
  return HD_LEAVE(hot.active ? try_for(l, false, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_READER, l,
                                                     real_pthread_rwlock_tryrdlock(l), HD_CALLER));
}

int HD_IN(pthread_rwlock_trywrlock)(pthread_rwlock_t *l);
int HD_IN(pthread_rwlock_trywrlock)(pthread_rwlock_t *l) {
  return HD_LEAVE(hot.active ? try_for(l, true, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_WRITER, l,
                                                     real_pthread_rwlock_trywrlock(l), HD_CALLER));
}

HD_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l) {
  return HD_LEAVE(hot.active ? unlock(l, HD_CALLER)
                             : hd__constructor_gives(l, real_pthread_rwlock_unlock(l)));
}
