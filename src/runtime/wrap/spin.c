/* spin.c: spin locks. Runs in the tested process. To the scheduler they are mutexes: a thread that waits for one is
 * blocked, it does not loop. The owner is in the lock's own memory. */
#include <errno.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/wrap/wrap.h"

#define FREE 1 /* as libc initialises it */
#define HELD 0x5a000000
#define DESTROYED 0x44454144

static bool held(const pthread_spinlock_t *l) { return (*l & 0xff000000) == HELD; }
static bool owned(const pthread_spinlock_t *l) { return *l == (HELD | (rt.cur->id + 1)); }

static struct hd_obj *touch(pthread_spinlock_t *l, uint64_t pc) {
  hd__touch_object((const void *)l, sizeof *l, HD_OBJ_MUTEX, *l == DESTROYED, pc);
  return hd__obj((uint64_t)l, HD_OBJ_MUTEX);
}

static void take(struct hd_obj *o, pthread_spinlock_t *l, uint64_t pc) {
  *l = HELD | (rt.cur->id + 1);
  o->owner = rt.cur->id;
  o->site = hd__site_here(pc);
  hd__disable_pending(o, rt.cur);
  hd__acquire(&o->vc);
}

int hd__spinlock_lock(pthread_spinlock_t *l, uint64_t pc) {
  struct hd_obj *o = touch(l, pc);
  hd__spin_lock((uint64_t)l, pc);
  if (owned(l)) {
    hd__report_lock(HD_KIND_DOUBLE_LOCK, o, HD_OP_LOCK, pc,
                    "the thread holds this spin lock already and will wait for itself");
    if (!(rt.config->ignore >> HD_KIND_DOUBLE_LOCK & 1)) hd__thread_stop();
  }
  hd__request(o, HD_OP_LOCK, !held(l), NULL, pc);
  hd__event(0);
  take(o, l, pc);
  return 0;
}

static int trylock(pthread_spinlock_t *l, uint64_t pc) {
  struct hd_obj *o = touch(l, pc);
  if (hd__spin_check((uint64_t)l, HD_SPIN_OTHER, pc)) return EBUSY;
  hd__point_open(HD_OP_TRYLOCK, (uint64_t)l, 0, pc);
  bool busy = held(l);
  hd__event(busy ? HD_EV_FAILED : 0);
  if (busy) {
    hd__spin_read((uint64_t)l, sizeof *l);
    return EBUSY;
  }
  take(o, l, pc);
  return 0;
}

static int unlock(pthread_spinlock_t *l, uint64_t pc) {
  struct hd_obj *o = touch(l, pc);
  if (!owned(l)) {
    if (!held(l)) o->owner = HD_NOBODY;
    hd__report_lock(HD_KIND_NOT_OWNER, o, HD_OP_UNLOCK, pc,
                    held(l) ? "another thread holds this spin lock" : "no thread holds this spin lock");
    hd__inexact(HD_INEXACT_NOT_OWNER, pc);
  }
  hd__point(HD_OP_UNLOCK, (uint64_t)l, 0, pc);
  *l = FREE;
  o->owner = HD_NOBODY;
  hd__release(&o->vc);
  hd__enable_pending(o);
  return 0;
}

HD_EXPORT int pthread_spin_init(pthread_spinlock_t *l, int shared) {
  struct hd_obj *o =
      hot.active ? hd__init_object(HD_OP_MINIT, (const void *)l, sizeof *l, 0, HD_CALLER) : NULL;
  int e = real_pthread_spin_init(l, shared);
  if (o) hd__enable_pending(o);
  return e;
}

HD_EXPORT int pthread_spin_destroy(pthread_spinlock_t *l) {
  if (!hot.active) return real_pthread_spin_destroy(l);
  uint64_t pc = HD_CALLER;
  struct hd_obj *o = touch(l, pc);
  hd__point(HD_OP_MDESTROY, (uint64_t)l, 0, pc);
  if (!held(l) && !o->pend) {
    *l = DESTROYED;
    hd__object_destroyed((uint64_t)l, HD_OBJ_MUTEX);
    return 0;
  }
  hd__report_lock(HD_KIND_DESTROY_BUSY, o, HD_OP_MDESTROY, pc,
                  held(l) ? "the spin lock is locked" : "a thread is about to lock the spin lock");
  return EBUSY;
}

int HD_IN(pthread_spin_lock)(pthread_spinlock_t *l);
int HD_IN(pthread_spin_lock)(pthread_spinlock_t *l) {
  return HD_LEAVE(hot.active ? hd__spinlock_lock(l, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_SPIN, (void *)l,
                                                     real_pthread_spin_lock(l), HD_CALLER));
}

int HD_IN(pthread_spin_trylock)(pthread_spinlock_t *l);
int HD_IN(pthread_spin_trylock)(pthread_spinlock_t *l) {
  return HD_LEAVE(hot.active ? trylock(l, HD_CALLER)
                             : hd__constructor_takes(HD_CONSTRUCTED_SPIN, (void *)l,
                                                     real_pthread_spin_trylock(l), HD_CALLER));
}

HD_EXPORT int pthread_spin_unlock(pthread_spinlock_t *l) {
  return HD_LEAVE(hot.active ? unlock(l, HD_CALLER)
                             : hd__constructor_gives((const void *)l, real_pthread_spin_unlock(l)));
}
