/* wrap_once.c: pthread_once and the guards of C++ function-local statics. Runs in the tested process.
 *
 * Both are the same thing: the first thread runs the initialisation, others wait until it is done. */
#include "runtime/rt.h"

enum { ONCE_NEW = 0, ONCE_BUSY = 1, ONCE_DONE = 2 };

/* Waits until nobody is initialising. */
static struct hd_obj *enter(uint64_t addr, uint64_t pc, const uint8_t *state, uint8_t done) {
  struct hd_thread *t = rt.cur;
  struct hd_obj *o = hd__obj(addr, HD_OBJ_ONCE);
  t->op = (struct hd_op){.kind = HD_OP_ONCE, .thread = t->id, .object = addr, .pc = pc};
  hd__pend(o, t);
  if (o->owner != HD_NOBODY) hd__disable(t);
  hd__step();
  hd__event(*state == done ? HD_EV_FAILED : 0);
  hd__unpend(o, t);
  hd__acquire(&o->vc);
  return o;
}

static void begin(struct hd_obj *o, uint64_t pc) {
  o->owner = rt.cur->id;
  o->site = hd__site_here(pc);
  hd__disable_pending(o, rt.cur);
}

static void end(uint64_t addr, uint64_t pc) {
  struct hd_obj *o = hd__obj(addr, HD_OBJ_ONCE);
  hd__point(HD_OP_ONCE_DONE, addr, 0, pc);
  o->owner = HD_NOBODY;
  hd__release(&o->vc);
  hd__enable_pending(o);
}

struct once_call {
  pthread_once_t *once;
  bool done;
};

/* The routine may leave by an exception or pthread_exit: then the next caller tries again. */
static void once_over(struct once_call *c) {
  if (hot.active && !c->done) {
    *c->once = ONCE_NEW;
    end((uint64_t)c->once, HD_CALLER);
  }
}

HD_EXPORT int pthread_once(pthread_once_t *once, void (*fn)(void)) {
  if (!hot.active) return real_pthread_once(once, fn);
  uint64_t pc = HD_CALLER;
  struct hd_obj *o = enter((uint64_t)once, pc, (const uint8_t *)once, ONCE_DONE);
  if (*once == ONCE_DONE) return 0;
  begin(o, pc);
  __attribute__((cleanup(once_over))) struct once_call call = {once, false};
  *once = ONCE_BUSY;
  fn();
  *once = ONCE_DONE;
  call.done = true;
  end((uint64_t)once, pc);
  return 0;
}

/* ---- guards: the first byte says "initialised"; compiled code reads it with acquire order ---- */

HD_EXPORT int __cxa_guard_acquire(uint64_t *guard);
HD_EXPORT void __cxa_guard_release(uint64_t *guard);
HD_EXPORT void __cxa_guard_abort(uint64_t *guard);

static int (*real_guard_acquire)(uint64_t *);
static void (*real_guard_release)(uint64_t *), (*real_guard_abort)(uint64_t *);

static void find_real_guards(void) {
  extern void *dlsym(void *, const char *);
  if (real_guard_acquire) return;
  void *next = (void *)-1l; /* RTLD_NEXT */
  *(void **)&real_guard_release = dlsym(next, "__cxa_guard_release");
  *(void **)&real_guard_abort = dlsym(next, "__cxa_guard_abort");
  *(void **)&real_guard_acquire = dlsym(next, "__cxa_guard_acquire");
}

int __cxa_guard_acquire(uint64_t *guard) {
  if (!hot.active) {
    find_real_guards();
    return real_guard_acquire(guard);
  }
  uint64_t pc = HD_CALLER;
  if (__atomic_load_n((uint8_t *)guard, __ATOMIC_ACQUIRE)) return 0;
  struct hd_obj *o = enter((uint64_t)guard + 1, pc, (const uint8_t *)guard, 1);
  if (*(uint8_t *)guard) {
    hd__access_slow((uint64_t)guard, 1, HD_A_ATOMIC, pc);
    return 0;
  }
  begin(o, pc);
  return 1;
}

void __cxa_guard_release(uint64_t *guard) {
  if (!hot.active) {
    find_real_guards();
    real_guard_release(guard);
    return;
  }
  uint64_t pc = HD_CALLER;
  hd__access_slow((uint64_t)guard, 1, HD_A_ATOMIC | HD_A_WRITE, pc);
  hd_vc_copy(&rt.arena, &hd__obj((uint64_t)guard, HD_OBJ_MEMORY)->vc, &rt.cur->vc);
  *(uint8_t *)guard = 1;
  end((uint64_t)guard + 1, pc);
}

void __cxa_guard_abort(uint64_t *guard) {
  if (!hot.active) {
    find_real_guards();
    real_guard_abort(guard);
    return;
  }
  end((uint64_t)guard + 1, HD_CALLER);
}
