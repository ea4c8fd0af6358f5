/* sem.c: semaphores, unnamed and named. Runs in the tested process.
 *
 * The value is in the semaphore's own memory, in libc's field. A thread that decrements it is ordered after all
 * earlier posts, as after atomic operations that add and subtract.
 *
 * Named semaphores live in the process: every execution starts without any, whatever the system has, and other
 * processes do not see them. A name is an object of its own, since it may matter which thread opens it first. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <semaphore.h>
#include <stdarg.h>

#include "runtime/core/fingerprint.h"
#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/memory/memory.h"
#include "runtime/kernel/kernel.h"
#include "runtime/core/finding.h"
#include "runtime/wrap/access.h"
#include "runtime/wrap/wrap.h"

/* libc's layout: the value, waiters (unused here), and two words; initialisation writes the first of them. */
struct semaphore {
  uint32_t value, waiters;
  int32_t private, pad;
};
#define DESTROYED 0x44454144
#define MOST INT_MAX /* SEM_VALUE_MAX */

static struct semaphore *of(sem_t *s) { return (struct semaphore *)s; }

static struct hd_obj *touch(sem_t *s, uint64_t pc) {
  hd__touch_object(s, sizeof *s, HD_OBJ_SEM, of(s)->private == DESTROYED, pc);
  return hd__obj((uint64_t)s, HD_OBJ_SEM);
}

static int fail(int e) {
  errno = e;
  return -1;
}

/* Reports the operation with the value that it found. */
static void event(sem_t *s, unsigned flags) {
  rt.cur->op.sem.value = of(s)->value;
  hd__event(flags);
}

/* The value has changed: enables or disables those that wait. */
static void refresh(struct hd_obj *o, sem_t *s) {
  for (struct hd_thread *t = o->pend; t; t = t->wait.next) {
    if (t == rt.cur || t->timer.expired) continue;
    if (of(s)->value)
      hd__enable(t);
    else
      hd__disable(t);
  }
}

static void take(struct hd_obj *o, sem_t *s) {
  of(s)->value--;
  if (!of(s)->value) refresh(o, s);
  hd__acquire(&o->vc);
}

/* What a child posts counts only when no thread can run, so that a schedule means the same again. */
static bool can(sem_t *s) {
  return of(s)->value && !(hd__children_any() && hd__snapshot_shared((uint64_t)s));
}

static int wait(sem_t *s, const struct hd_until *until, uint64_t pc) {
  hd__test_cancel();
  struct hd_obj *o = touch(s, pc);
  bool late;
  if (until && hd__at_once(until->clock, until->at, pc)) {
    if (hd__spin_check((uint64_t)s, HD_SPIN_OTHER, pc)) return fail(ETIMEDOUT);
    hd__point_cancel(HD_OP_SEMTRYWAIT, (uint64_t)s, pc);
    late = hd__early(!of(s)->value, until->clock, until->at);
    if (late) hd__spin_read((uint64_t)s, sizeof of(s)->value);
  } else {
    enum hd_requested how;
    for (;;) {
      how = hd__request_cancel(o, until ? HD_OP_SEMTIMED : HD_OP_SEMWAIT, can(s), until, pc);
      if (how != HD_INTERRUPTED) break;
      hd__test_cancel();
      if (!rt.cur->sig.restarts && !hd__handled_before()) return fail(EINTR);
    }
    late = how == HD_LATE && !of(s)->value;
  }
  event(s, late ? HD_EV_FAILED : 0);
  if (late) return fail(ETIMEDOUT);
  take(o, s);
  return 0;
}

static int wait_until(sem_t *s, clockid_t clock, const struct timespec *at, uint64_t pc) {
  hd__reads(at, sizeof *at, pc);
  struct timespec limit = *at;
  if (hd__bad_time(&limit)) return fail(EINVAL);
  return wait(s, &(struct hd_until){clock, &limit}, pc);
}

static int try(sem_t *s, uint64_t pc) {
  struct hd_obj *o = touch(s, pc);
  if (hd__spin_check((uint64_t)s, HD_SPIN_OTHER, pc)) return fail(EAGAIN);
  hd__point_open(HD_OP_SEMTRYWAIT, (uint64_t)s, 0, pc);
  bool none = !of(s)->value;
  event(s, none ? HD_EV_FAILED : 0);
  if (none) {
    hd__spin_read((uint64_t)s, sizeof of(s)->value);
    return fail(EAGAIN);
  }
  take(o, s);
  return 0;
}

/* glibc's sem_clockwait is no cancellation point when the semaphore is free. */
static int clock_wait(sem_t *s, clockid_t clock, const struct timespec *at, uint64_t pc) {
  hd__reads(at, sizeof *at, pc);
  if (!rt.cur->cancel.disabled && !hd__bad_time(at) && try(s, pc) == 0) return 0;
  return wait_until(s, clock, at, pc);
}

/* ---- semaphores in memory that a child shares ---- */

/* The semaphore that the thread waits for, if a child could post it. */
static sem_t *shared_by(const struct hd_thread *t) {
  bool waits = t->state == HD_T_BLOCKED && hd_op_object(t->op.kind) == HD_OBJ_SEM;
  return waits && hd__snapshot_shared(t->op.object) ? (sem_t *)t->op.object : NULL;
}

bool hd__sems_shared(void) {
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (shared_by(&rt.thread[i])) return true;
  return false;
}

bool hd__sems_update(void) {
  for (unsigned i = 0; i < rt.nthreads; i++) {
    sem_t *s = shared_by(&rt.thread[i]);
    if (!s || !of(s)->value) continue;
    hd__inexact(HD_INEXACT_OUTSIDE, rt.thread[i].op.pc);
    hd__enable(&rt.thread[i]);
  }
  return rt.nenabled;
}

static int post(sem_t *s, uint64_t pc) {
  struct hd_obj *o = touch(s, pc);
  hd__point_open(HD_OP_SEMPOST, (uint64_t)s, 0, pc);
  event(s, 0);
  if (of(s)->value == MOST) return fail(EOVERFLOW);
  of(s)->value++;
  hd_vc_join(&rt.arena, &o->vc, &rt.cur->vc);
  hd__new_segment(rt.cur);
  if (of(s)->value == 1) refresh(o, s);
  if (hd__children_any() && hd__snapshot_shared((uint64_t)s)) /* a child may wait for it */
    hd_sys6(SYS_futex, (long)s, 1 /* FUTEX_WAKE */, 1, 0, 0, 0);
  return 0;
}

static int value(sem_t *s, int *out, uint64_t pc) {
  touch(s, pc);
  if (!hd__spin_check((uint64_t)s, HD_SPIN_OTHER, pc)) {
    hd__point_open(HD_OP_SEMVALUE, (uint64_t)s, 0, pc);
    event(s, 0);
  }
  hd__spin_read((uint64_t)s, sizeof of(s)->value);
  int v = (int)of(s)->value;
  hd__access_range((uint64_t)out, sizeof *out, HD_A_WRITE, pc);
  *out = v;
  return 0;
}

static int init(sem_t *s, int shared, unsigned initial, uint64_t pc) {
  if (initial > MOST) return fail(EINVAL);
  struct hd_obj *o = hd__init_object(HD_OP_SEMINIT, s, sizeof *s, initial, pc);
  int e = real_sem_init(s, shared, initial);
  refresh(o, s);
  return e;
}

static int destroy(sem_t *s, uint64_t pc) {
  struct hd_obj *o = touch(s, pc);
  hd__point_open(HD_OP_SEMDESTROY, (uint64_t)s, 0, pc);
  event(s, 0);
  if (o->pend) {
    hd__report_lock(HD_KIND_DESTROY_BUSY, o, HD_OP_SEMDESTROY, pc,
                    "a thread waits for the semaphore, or is about to");
    return fail(EBUSY);
  }
  of(s)->private = DESTROYED;
  hd__object_destroyed((uint64_t)s, HD_OBJ_SEM);
  return 0;
}

/* ---- names ---- */

#define NAMED 64
#define NAME_LENGTH 252

static HD_EXEC_LARGE struct named {
  sem_t sem;
  uint32_t epoch; /* execution it belongs to */
  uint32_t opened;
  bool linked; /* its name still refers to it */
  char name[NAME_LENGTH];
} named[NAMED];

static uint64_t hash_of(const char *name) {
  uint64_t h = 0;
  while (*name) h = hd_mix64(h * 31 + (unsigned char)*name++);
  return h;
}

static bool used(const struct named *n) { return n->epoch == rt.epoch && (n->linked || n->opened); }

static struct named *find(const char *name) {
  for (unsigned i = 0; i < NAMED; i++)
    if (used(&named[i]) && named[i].linked && hd__streq(named[i].name, name)) return &named[i];
  return NULL;
}

/* An address that depends on the name and not on which thread came first. */
static struct named *room(const char *name) {
  for (uint64_t i = 0, h = hash_of(name); i < NAMED; i++)
    if (!used(&named[(h + i) % NAMED])) return &named[(h + i) % NAMED];
  return NULL;
}

/* Operations on a name are ordered. */
static void at_name(const char *name, uint64_t pc) {
  hd__point(HD_OP_SEMNAME, (uint64_t)&named[hash_of(name) % NAMED] + 1, 0, pc);
}

static sem_t *open_named(const char *name, int flags, unsigned initial, uint64_t pc) {
  if (hd__strlen(name) >= NAME_LENGTH) {
    errno = ENAMETOOLONG;
    return SEM_FAILED;
  }
  at_name(name, pc);
  struct named *n = find(name);
  int e = n && (flags & O_CREAT) && (flags & O_EXCL) ? EEXIST : !n && !(flags & O_CREAT) ? ENOENT : 0;
  if (!e && !n && initial > MOST) e = EINVAL;
  if (!e && !n) {
    n = room(name);
    if (!n)
      e = EMFILE;
    else {
      hd__zero(n, sizeof *n);
      n->epoch = rt.epoch;
      n->linked = true;
      hd__copy(n->name, name, hd__strlen(name) + 1);
      of(&n->sem)->value = initial;
    }
  }
  if (e) {
    errno = e;
    return SEM_FAILED;
  }
  n->opened++;
  return &n->sem;
}

HD_EXPORT sem_t *sem_open(const char *name, int flags, ...) {
  va_list args;
  va_start(args, flags);
  mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
  unsigned initial = flags & O_CREAT ? va_arg(args, unsigned) : 0;
  va_end(args);
  hd__uncaptured(HD_UNCAPTURED_LIBRARY);
  name = READS_STRING(name);
  return hot.active ? open_named(name, flags, initial, HD_CALLER) : real_sem_open(name, flags, mode, initial);
}

HD_EXPORT int sem_close(sem_t *s) {
  if (!hot.active) return real_sem_close(s);
  struct named *n = (struct named *)s;
  if (n < named || n >= named + NAMED || !used(n) || !n->opened) return fail(EINVAL);
  at_name(n->name, HD_CALLER);
  n->opened--;
  return 0;
}

HD_EXPORT int sem_unlink(const char *name) {
  if (!hot.active) return real_sem_unlink(name);
  name = READS_STRING(name);
  at_name(name, HD_CALLER);
  struct named *n = find(name);
  if (!n) return fail(ENOENT);
  n->linked = false;
  return 0;
}

/* ---- the other functions ---- */

HD_EXPORT int sem_init(sem_t *s, int shared, unsigned initial) {
  return HD_LEAVE(hot.active ? init(s, shared, initial, HD_CALLER) : real_sem_init(s, shared, initial));
}

HD_EXPORT int sem_destroy(sem_t *s) {
  return HD_LEAVE(hot.active ? destroy(s, HD_CALLER) : real_sem_destroy(s));
}

HD_EXPORT int sem_wait(sem_t *s) {
  return HD_LEAVE(hot.active ? wait(s, NULL, HD_CALLER) : real_sem_wait(s));
}

int HD_IN(sem_timedwait)(sem_t *s, const struct timespec *at);
int HD_IN(sem_timedwait)(sem_t *s, const struct timespec *at) {
  return HD_LEAVE(hot.active ? wait_until(s, CLOCK_REALTIME, at, HD_CALLER) : real_sem_timedwait(s, at));
}

int HD_IN(sem_clockwait)(sem_t *s, clockid_t clock, const struct timespec *at);
int HD_IN(sem_clockwait)(sem_t *s, clockid_t clock, const struct timespec *at) {
  return HD_LEAVE(hot.active ? clock_wait(s, clock, at, HD_CALLER) : real_sem_clockwait(s, clock, at));
}

int HD_IN(sem_trywait)(sem_t *s);
int HD_IN(sem_trywait)(sem_t *s) { return HD_LEAVE(hot.active ? try(s, HD_CALLER) : real_sem_trywait(s)); }

HD_EXPORT int sem_post(sem_t *s) { return HD_LEAVE(hot.active ? post(s, HD_CALLER) : real_sem_post(s)); }

int HD_IN(sem_getvalue)(sem_t *s, int *out);
int HD_IN(sem_getvalue)(sem_t *s, int *out) {
  return HD_LEAVE(hot.active ? value(s, out, HD_CALLER) : real_sem_getvalue(s, out));
}
