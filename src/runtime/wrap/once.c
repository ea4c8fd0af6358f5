/* once.c: pthread_once and the guards of C++ function-local statics. Runs in the tested process.
 *
 * In both, the first thread runs the initialisation and others wait until it is done. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

enum { ONCE_NEW = 0, ONCE_BUSY = 1, ONCE_DONE = 2 };

/* Waits until no thread is initialising. */
static struct hd_obj *enter(uint64_t addr, uint64_t pc, const uint8_t *state, uint8_t done) {
  struct hd_obj *o = hd__obj(addr, HD_OBJ_ONCE);
  hd__take_signals();
  hd__request(o, HD_OP_ONCE, o->owner == HD_NOBODY, NULL, pc);
  hd__event(*state == done ? HD_EV_FAILED : 0);
  hd__acquire(&o->vc);
  return o;
}

static void begin(struct hd_obj *o, uint64_t pc) {
  o->owner = rt.cur->id;
  o->site = hd__site_here(pc);
  hd__disable_pending(o, rt.cur);
}

static void end(uint64_t addr, bool done, uint64_t pc) {
  struct hd_obj *o = hd__obj(addr, HD_OBJ_ONCE);
  hd__point(HD_OP_ONCE_DONE, addr, !done, pc);
  o->owner = HD_NOBODY;
  hd__release(&o->vc);
  hd__enable_pending(o);
}

struct once_call {
  pthread_once_t *once;
  uint64_t pc;
  bool done;
};

/* The routine may leave by an exception, a cancellation or pthread_exit: then the next caller retries. */
static void once_over(struct once_call *c) {
  if (hot.active && !c->done) {
    *c->once = ONCE_NEW;
    end((uint64_t)c->once, false, c->pc);
  }
}

int hd__once(pthread_once_t *once, void (*fn)(void), uint64_t pc) {
  hd__touch_object(once, sizeof *once, HD_OBJ_ONCE, false, pc);
  struct hd_obj *o = enter((uint64_t)once, pc, (const uint8_t *)once, ONCE_DONE);
  if (*once == ONCE_DONE) return 0;
  begin(o, pc);
  __attribute__((cleanup(once_over))) struct once_call call = {once, pc, false};
  *once = ONCE_BUSY;
  fn();
  *once = ONCE_DONE;
  call.done = true;
  end((uint64_t)once, true, pc);
  return 0;
}

HD_EXPORT int pthread_once(pthread_once_t *once, void (*fn)(void)) {
  return HD_LEAVE(hot.active ? hd__once(once, fn, HD_CALLER) : real_pthread_once(once, fn));
}

/* ---- guards: the first byte says "initialised"; compiled code reads it with acquire order ---- */

HD_EXPORT int __cxa_guard_acquire(uint64_t *guard);
HD_EXPORT void __cxa_guard_release(uint64_t *guard);
HD_EXPORT void __cxa_guard_abort(uint64_t *guard);

/* Outside a controlled run: does what libstdc++ does, which may not be callable (-static-libstdc++). */
static int native_acquire(uint8_t *guard) {
  for (;;) {
    uint8_t idle = 0;
    if (__atomic_load_n(guard, __ATOMIC_ACQUIRE)) return 0;
    if (__atomic_compare_exchange_n(guard + 1, &idle, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      if (!__atomic_load_n(guard, __ATOMIC_ACQUIRE)) return 1;
      __atomic_store_n(guard + 1, 0, __ATOMIC_RELEASE);
      return 0;
    }
    real_sched_yield();
  }
}

static void native_release(uint8_t *guard, uint8_t done) {
  if (done) __atomic_store_n(guard, 1, __ATOMIC_RELEASE);
  __atomic_store_n(guard + 1, 0, __ATOMIC_RELEASE);
}

int __cxa_guard_acquire(uint64_t *guard) {
  if (!hot.active) {
    hd__real_init();
    return native_acquire((uint8_t *)guard);
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
    native_release((uint8_t *)guard, 1);
    return;
  }
  uint64_t pc = HD_CALLER;
  hd__access_slow((uint64_t)guard, 1, HD_A_ATOMIC | HD_A_WRITE, pc);
  hd_vc_copy(&rt.arena, &hd__obj((uint64_t)guard, HD_OBJ_MEMORY)->vc, &rt.cur->vc);
  *(uint8_t *)guard = 1;
  end((uint64_t)guard + 1, true, pc);
}

void __cxa_guard_abort(uint64_t *guard) {
  if (!hot.active) {
    native_release((uint8_t *)guard, 0);
    return;
  }
  end((uint64_t)guard + 1, false, HD_CALLER);
}
