/* mutex.c: mutexes. Runs in the tested process.
 *
 * Whether a mutex is locked, by which thread and how often stands in its own memory, in libc's fields; nothing else
 * reads them in a controlled run. So a mutex that is zeroed or initialised again is unlocked. Priorities and
 * process sharing are accepted and have no effect. A robust mutex whose owner ends is unlocked by that thread as
 * its last step. As in libc the owner field then says that it is inconsistent, and so does a flag until the next
 * owner has called pthread_mutex_consistent. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

static int type_of(const pthread_mutex_t *m) { return m->__data.__kind & 3; }
static bool destroyed(const pthread_mutex_t *m) { return m->__data.__kind == -1; }

static void touch(const pthread_mutex_t *m, uint64_t pc) {
  hd__touch_object(m, sizeof *m, HD_OBJ_MUTEX, destroyed(m), pc);
}

#define INCONSISTENT 0x7fffffff
#define NOT_RECOVERABLE 0x7ffffffe
static bool robust(const pthread_mutex_t *m) { return m->__data.__kind & 16; }
static bool lost(const pthread_mutex_t *m) {
  return !m->__data.__lock && m->__data.__owner == NOT_RECOVERABLE;
}

/* Returns the result for the caller: 0, or EOWNERDEAD if the last owner has ended. */
static int take(struct hd_obj *o, pthread_mutex_t *m, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  bool died = m->__data.__owner == INCONSISTENT;
  if (robust(m)) {
    o->next_robust = t->robust;
    t->robust = o;
    m->__data.__spins = died;
  }
  m->__data.__lock = 1;
  m->__data.__owner = t->id + 1;
  m->__data.__count = 1;
  o->owner = t->id;
  o->site = hd__site_here(pc);
  hd__disable_pending(o, t);
  hd__acquire(&o->vc);
  o->seen = t->vc.time;
  return died ? EOWNERDEAD : 0;
}

/* The running thread finds that somebody has it. That orders no memory, but it is later than the lock was taken. */
static void see_taken(const struct hd_obj *o, const pthread_mutex_t *m) {
  if (o->seen > rt.cur->vc.time) rt.cur->vc.time = o->seen;
  hd__spin_read((uint64_t)&m->__data.__lock, sizeof m->__data.__lock);
}

static bool owned(const pthread_mutex_t *m) {
  return m->__data.__lock && m->__data.__owner == rt.cur->id + 1;
}

/* The running thread releases the mutex and enables those that request it. */
static void give(struct hd_obj *o, pthread_mutex_t *m) {
  m->__data.__lock = 0;
  m->__data.__owner = 0;
  if (HD_UNLIKELY(robust(m))) {
    struct hd_obj **p = &rt.cur->robust;
    while (*p && *p != o) p = &(*p)->next_robust;
    if (*p) *p = o->next_robust;
    if (m->__data.__spins) m->__data.__owner = NOT_RECOVERABLE;
  }
  m->__data.__count = 0;
  o->owner = HD_NOBODY;
  hd__release(&o->vc);
  hd__enable_pending(o);
}

static void report_owner(unsigned kind, pthread_mutex_t *m, uint64_t pc, const char *text) {
  hd__report_lock(kind, hd__obj((uint64_t)m, HD_OBJ_MUTEX),
                  kind == HD_KIND_DOUBLE_LOCK    ? HD_OP_LOCK
                  : kind == HD_KIND_DESTROY_BUSY ? HD_OP_MDESTROY
                                                 : HD_OP_UNLOCK,
                  pc, text);
}

static void not_owner(pthread_mutex_t *m, uint64_t pc) {
  report_owner(HD_KIND_NOT_OWNER, m, pc,
               m->__data.__lock ? "another thread holds this mutex" : "no thread holds this mutex");
  hd__inexact(HD_INEXACT_NOT_OWNER, pc); /* the search assumes that what is held stays held */
}

/* Relocking: returns true when the caller is done, with its result in *e. One with a time limit just times out. */
static bool again(pthread_mutex_t *m, bool timed, int *e, uint64_t pc) {
  if (!owned(m)) return false;
  if (type_of(m) == PTHREAD_MUTEX_RECURSIVE) {
    *e = m->__data.__count == 0xffffffffu ? EAGAIN : 0;
    m->__data.__count += *e == 0;
    return true;
  }
  if (type_of(m) == PTHREAD_MUTEX_ERRORCHECK) {
    *e = EDEADLK;
    return true;
  }
  if (!timed)
    report_owner(HD_KIND_DOUBLE_LOCK, m, pc, "the thread holds this mutex already and will wait for itself");
  return false;
}

int hd__mutex_lock(pthread_mutex_t *m, uint64_t pc) {
  int e = 0;
  touch(m, pc);
  if (again(m, false, &e, pc)) return e;
  if (owned(m) && !(rt.config->ignore >> HD_KIND_DOUBLE_LOCK & 1)) hd__thread_stop();
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__request(o, HD_OP_LOCK, !m->__data.__lock, NULL, pc);
  hd__event(lost(m) ? HD_EV_FAILED : 0);
  return lost(m) ? ENOTRECOVERABLE : take(o, m, pc);
}

int hd__mutex_lock_until(pthread_mutex_t *m, clockid_t clock, const struct timespec *at, uint64_t pc) {
  int e = 0;
  touch(m, pc);
  if (again(m, true, &e, pc)) return e;
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  if (m->__data.__lock)
    hd__access_range((uint64_t)at, sizeof *at, 0, pc); /* it looks only if it has to wait */
  struct timespec limit = *at;
  at = &limit;
  bool late, bad = hd__bad_time(at); /* which matters only then */
  if (bad || hd__at_once(clock, at, pc)) {
    if (hd__spin_check((uint64_t)&m->__data.__lock, HD_SPIN_OTHER, pc)) return bad ? EINVAL : ETIMEDOUT;
    hd__point_open(HD_OP_TRYLOCK, (uint64_t)m, 0, pc);
    late = bad ? m->__data.__lock != 0 : hd__early(m->__data.__lock, clock, at);
  } else {
    late = hd__request(o, HD_OP_TIMEDLOCK, !m->__data.__lock, &(struct hd_until){clock, at}, pc) &&
           m->__data.__lock;
  }
  hd__event(late || lost(m) ? HD_EV_FAILED : 0);
  if (late) see_taken(o, m);
  return late ? (bad ? EINVAL : ETIMEDOUT) : lost(m) ? ENOTRECOVERABLE : take(o, m, pc);
}

int hd__mutex_trylock(pthread_mutex_t *m, uint64_t pc) {
  touch(m, pc);
  if (owned(m) && type_of(m) == PTHREAD_MUTEX_RECURSIVE) {
    m->__data.__count++;
    return 0;
  }
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  if (hd__spin_check((uint64_t)&m->__data.__lock, HD_SPIN_OTHER, pc)) return EBUSY;
  hd__point_open(HD_OP_TRYLOCK, (uint64_t)m, 0, pc);
  bool busy = m->__data.__lock;
  hd__event(busy || lost(m) ? HD_EV_FAILED : 0);
  if (busy) see_taken(o, m);
  return busy ? EBUSY : lost(m) ? ENOTRECOVERABLE : take(o, m, pc);
}

int hd__mutex_unlock(pthread_mutex_t *m, uint64_t pc) {
  touch(m, pc);
  bool mine = owned(m);
  if (!mine) {
    if (type_of(m) == PTHREAD_MUTEX_RECURSIVE || type_of(m) == PTHREAD_MUTEX_ERRORCHECK || robust(m))
      return EPERM;
    not_owner(m, pc);
  } else if (type_of(m) == PTHREAD_MUTEX_RECURSIVE && --m->__data.__count > 0) {
    return 0;
  }
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__point(HD_OP_UNLOCK, (uint64_t)m, 0, pc);
  if (HD_UNLIKELY(mine && !owned(m))) not_owner(m, pc); /* it was initialised again meanwhile */
  give(o, m);
  return 0;
}

int hd__mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a, uint64_t pc) {
  hd__reads(a, sizeof *a, pc);
  struct hd_obj *o = hd__init_object(HD_OP_MINIT, m, sizeof *m, 0, pc);
  int e = real_pthread_mutex_init(m, a);
  hd__enable_pending(o);
  return e;
}

int hd__mutex_destroy(pthread_mutex_t *m, uint64_t pc) {
  touch(m, pc);
  hd__point(HD_OP_MDESTROY, (uint64_t)m, 0, pc);
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  if (m->__data.__lock || o->pend) {
    report_owner(HD_KIND_DESTROY_BUSY, m, pc,
                 m->__data.__lock ? "the mutex is locked" : "a thread is about to lock the mutex");
    return EBUSY;
  }
  m->__data.__kind = -1;
  hd__object_destroyed((uint64_t)m, HD_OBJ_MUTEX);
  return 0;
}

void hd__mutexes_abandon(void) {
  while (rt.cur->robust) {
    struct hd_obj *o = rt.cur->robust;
    pthread_mutex_t *m = (pthread_mutex_t *)o->addr;
    hd__point(HD_OP_UNLOCK, o->addr, 0, hd__site_pc(o->site));
    m->__data.__spins = 0;
    give(o, m);
    m->__data.__owner = INCONSISTENT;
  }
}

/* ---- for condition variables ---- */

void hd__mutex_leave(pthread_mutex_t *m) { give(hd__obj((uint64_t)m, HD_OBJ_MUTEX), m); }
bool hd__mutex_owned(const pthread_mutex_t *m) { return owned(m); }
bool hd__mutex_free(uint64_t m) { return ((const pthread_mutex_t *)m)->__data.__lock == 0; }
void hd__mutex_not_owned(pthread_mutex_t *m, uint64_t pc) {
  report_owner(HD_KIND_NOT_OWNER, m, pc, "wait on a condition with a mutex that the thread does not hold");
}
int hd__mutex_return(pthread_mutex_t *m, uint64_t pc) {
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__unpend(o, rt.cur);
  return lost(m) ? ENOTRECOVERABLE : take(o, m, pc);
}

/* ---- the functions themselves ---- */

HD_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a) {
  return HD_LEAVE(hot.active ? hd__mutex_init(m, a, HD_CALLER) : real_pthread_mutex_init(m, a));
}

HD_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m) {
  return HD_LEAVE(hot.active ? hd__mutex_destroy(m, HD_CALLER) : real_pthread_mutex_destroy(m));
}

HD_EXPORT int pthread_mutex_consistent(pthread_mutex_t *m) {
  if (!hot.active) return real_pthread_mutex_consistent(m);
  if (!robust(m) || !owned(m) || !m->__data.__spins) return EINVAL;
  m->__data.__spins = 0;
  return 0;
}

int HD_IN(pthread_mutex_lock)(pthread_mutex_t *m);
int HD_IN(pthread_mutex_lock)(pthread_mutex_t *m) {
  if (HD_UNLIKELY(!hot.active))
    return hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m, real_pthread_mutex_lock(m), HD_CALLER);
  uint64_t pc = HD_CALLER;
  hd__spin_lock((uint64_t)m, pc);
  return HD_LEAVE(hd__mutex_lock(m, pc));
}

int HD_IN(pthread_mutex_trylock)(pthread_mutex_t *m);
int HD_IN(pthread_mutex_trylock)(pthread_mutex_t *m) {
  return HD_LEAVE(HD_LIKELY(hot.active) ? hd__mutex_trylock(m, HD_CALLER)
                                        : hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m,
                                                                real_pthread_mutex_trylock(m), HD_CALLER));
}

int HD_IN(pthread_mutex_timedlock)(pthread_mutex_t *m, const struct timespec *at);
int HD_IN(pthread_mutex_timedlock)(pthread_mutex_t *m, const struct timespec *at) {
  return HD_LEAVE(hot.active ? hd__mutex_lock_until(m, CLOCK_REALTIME, at, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m,
                                                     real_pthread_mutex_timedlock(m, at), HD_CALLER));
}

int HD_IN(pthread_mutex_clocklock)(pthread_mutex_t *m, clockid_t clock, const struct timespec *at);
int HD_IN(pthread_mutex_clocklock)(pthread_mutex_t *m, clockid_t clock, const struct timespec *at) {
  return HD_LEAVE(hot.active ? hd__mutex_lock_until(m, clock, at, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_MUTEX, m,
                                                     real_pthread_mutex_clocklock(m, clock, at), HD_CALLER));
}

HD_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m) {
  return HD_LEAVE(HD_LIKELY(hot.active) ? hd__mutex_unlock(m, HD_CALLER)
                                        : hd__constructor_gives(m, real_pthread_mutex_unlock(m)));
}
