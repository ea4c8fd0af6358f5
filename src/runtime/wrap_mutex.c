/* wrap_mutex.c: mutexes. Runs in the tested process.
 *
 * Whether a mutex is locked, by whom and how often stands in its own memory, in libc's fields; nobody else
 * looks at them in a controlled run. A mutex that is zeroed or initialised again is therefore unlocked again. */
#include <errno.h>

#include "runtime/rt.h"

static int type_of(const pthread_mutex_t *m) { return m->__data.__kind & 3; }
static bool destroyed(const pthread_mutex_t *m) { return m->__data.__kind == -1; }

static void touch(const pthread_mutex_t *m, uint64_t pc) {
  hd__touch_object(m, sizeof *m, destroyed(m), "use of a destroyed mutex", pc);
}

static void take(struct hd_obj *o, pthread_mutex_t *m, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  m->__data.__lock = 1;
  m->__data.__owner = t->id + 1;
  m->__data.__count = 1;
  o->owner = t->id;
  o->site = hd__site_here(pc);
  hd__disable_pending(o, t);
  hd__acquire(&o->vc);
}

static bool owned(const pthread_mutex_t *m) {
  return m->__data.__lock && m->__data.__owner == rt.cur->id + 1;
}

/* The running thread gives the mutex back; those who want it may go. */
static void give(struct hd_obj *o, pthread_mutex_t *m) {
  m->__data.__lock = 0;
  m->__data.__owner = 0;
  m->__data.__count = 0;
  o->owner = HD_NOBODY;
  hd__release(&o->vc);
  hd__enable_pending(o);
}

static void report_owner(unsigned kind, pthread_mutex_t *m, uint64_t pc, const char *text) {
  hd__report_lock(kind, hd__obj((uint64_t)m, HD_OBJ_MUTEX),
                  kind == HD_KIND_DOUBLE_LOCK ? HD_OP_LOCK : HD_OP_UNLOCK, pc, text);
}

/* Relocking: returns true when the caller is done, with its result in *e. */
static bool again(pthread_mutex_t *m, int *e, uint64_t pc) {
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
  report_owner(HD_KIND_DOUBLE_LOCK, m, pc, "the thread holds this mutex already and will wait for itself");
  return false;
}

static int lock(pthread_mutex_t *m, uint64_t pc) {
  int e = 0;
  touch(m, pc);
  if (again(m, &e, pc)) return e;
  if (owned(m) && !(rt.config->ignore >> HD_KIND_DOUBLE_LOCK & 1)) hd__thread_stop();
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__want(o, HD_OP_LOCK, !m->__data.__lock, NULL, pc);
  hd__event(0);
  take(o, m, pc);
  return 0;
}

static int lock_until(pthread_mutex_t *m, clockid_t clock, const struct timespec *at, uint64_t pc) {
  int e = 0;
  touch(m, pc);
  if (again(m, &e, pc)) return e;
  if (hd__bad_time(at)) return EINVAL;
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  bool late = hd__want(o, HD_OP_TIMEDLOCK, !m->__data.__lock, &(struct hd_until){clock, at}, pc);
  hd__event(late ? HD_EV_FAILED : 0);
  if (late) return ETIMEDOUT;
  take(o, m, pc);
  return 0;
}

static int trylock(pthread_mutex_t *m, uint64_t pc) {
  touch(m, pc);
  if (owned(m) && type_of(m) == PTHREAD_MUTEX_RECURSIVE) {
    m->__data.__count++;
    return 0;
  }
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  if (hd__spin_check((uint64_t)&m->__data.__lock, pc)) return EBUSY;
  hd__point_open(HD_OP_TRYLOCK, (uint64_t)m, 0, pc);
  bool busy = m->__data.__lock;
  hd__event(busy ? HD_EV_FAILED : 0);
  if (busy) {
    hd__spin_read((uint64_t)&m->__data.__lock, sizeof m->__data.__lock);
    return EBUSY;
  }
  take(o, m, pc);
  return 0;
}

static int unlock(pthread_mutex_t *m, uint64_t pc) {
  touch(m, pc);
  if (!owned(m)) {
    if (type_of(m) == PTHREAD_MUTEX_RECURSIVE || type_of(m) == PTHREAD_MUTEX_ERRORCHECK) return EPERM;
    report_owner(HD_KIND_NOT_OWNER, m, pc,
                 m->__data.__lock ? "another thread holds this mutex" : "nobody holds this mutex");
    rt.status->lossy = 1; /* others cannot rely on what they hold: the search does not know that */
  } else if (type_of(m) == PTHREAD_MUTEX_RECURSIVE && --m->__data.__count > 0) {
    return 0;
  }
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__point(HD_OP_UNLOCK, (uint64_t)m, 0, pc);
  give(o, m);
  return 0;
}

/* ---- for condition variables ---- */

void hd__mutex_leave(pthread_mutex_t *m) { give(hd__obj((uint64_t)m, HD_OBJ_MUTEX), m); }
bool hd__mutex_owned(const pthread_mutex_t *m) { return owned(m); }
bool hd__mutex_free(uint64_t m) { return ((const pthread_mutex_t *)m)->__data.__lock == 0; }
void hd__mutex_not_owned(pthread_mutex_t *m, uint64_t pc) {
  report_owner(HD_KIND_NOT_OWNER, m, pc, "wait on a condition with a mutex the thread does not hold");
}
void hd__mutex_return(pthread_mutex_t *m, uint64_t pc) {
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  hd__unpend(o, rt.cur);
  take(o, m, pc);
}

/* ---- the functions themselves ---- */

HD_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a) {
  return real_pthread_mutex_init(m, a);
}

HD_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m) {
  if (!hot.active) return real_pthread_mutex_destroy(m);
  uint64_t pc = HD_CALLER;
  touch(m, pc);
  hd__point(HD_OP_MDESTROY, (uint64_t)m, 0, pc);
  struct hd_obj *o = hd__obj((uint64_t)m, HD_OBJ_MUTEX);
  if (m->__data.__lock || o->pend) {
    report_owner(HD_KIND_DESTROY_BUSY, m, pc,
                 m->__data.__lock ? "the mutex is locked" : "a thread is about to lock the mutex");
    return EBUSY;
  }
  m->__data.__kind = -1;
  return 0;
}

HD_EXPORT int pthread_mutex_lock(pthread_mutex_t *m) {
  return HD_LIKELY(hot.active) ? lock(m, HD_CALLER) : real_pthread_mutex_lock(m);
}

int HD_IN(pthread_mutex_trylock)(pthread_mutex_t *m);
int HD_IN(pthread_mutex_trylock)(pthread_mutex_t *m) {
  return HD_LIKELY(hot.active) ? trylock(m, HD_CALLER) : real_pthread_mutex_trylock(m);
}

HD_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *at) {
  return hot.active ? lock_until(m, CLOCK_REALTIME, at, HD_CALLER) : real_pthread_mutex_timedlock(m, at);
}

HD_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *at) {
  return hot.active ? lock_until(m, clock, at, HD_CALLER) : real_pthread_mutex_clocklock(m, clock, at);
}

HD_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m) {
  return HD_LIKELY(hot.active) ? unlock(m, HD_CALLER) : real_pthread_mutex_unlock(m);
}
