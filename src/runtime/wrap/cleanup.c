/* cleanup.c: pthread_exit and cancellation, with the cleanup handlers on the way. Runs in the tested process.
 *
 * As in libc, leaving a thread unwinds its stack: C++ destructors and cleanup attributes run by the unwinder,
 * handlers pushed in C (pthread_cleanup_push without exceptions) by jumping to their buffers. The unwinding
 * ends at the first frame of the thread (hd_arch_entry), which has no caller.
 *
 * A thread that is cancelled acts on it at its next cancellation point: pthread_testcancel, a wait for a
 * condition, a semaphore or a thread, a sleep. One that waits there already is woken, by the operation that
 * cancels it; its own next operation is then CANCELLED. The asynchronous type is accepted and means the same. */
#include <errno.h>
#include <setjmp.h>
#include <unwind.h>

#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/kernel/kernel.h"
#include "runtime/wrap/wrap.h"

static struct _Unwind_Exception *exception_of(struct hd_thread *t) {
  static struct _Unwind_Exception exc[HD_MAX_THREADS];
  return &exc[t->id];
}

/* libc's buffer: a jump buffer, then private words, the first of which links to the outer buffer. */
static void **link_of(void *buf) { return &((__pthread_unwind_buf_t *)buf)->__pad[0]; }

static _Unwind_Reason_Code stop(int version, _Unwind_Action actions, _Unwind_Exception_Class cls,
                                struct _Unwind_Exception *exc, struct _Unwind_Context *context, void *arg) {
  (void)version, (void)cls, (void)exc;
  struct hd_thread *t = arg;
  bool last = actions & _UA_END_OF_STACK;
  if (t->exit.cleanup && (last || (uint64_t)t->exit.cleanup < _Unwind_GetCFA(context)))
    _longjmp(*(jmp_buf *)t->exit.cleanup, 1); /* comes back through __pthread_unwind_next */
  if (last) hd__thread_exit(t->exit.value);
  return _URC_NO_REASON;
}

static void cleaned(_Unwind_Reason_Code reason, struct _Unwind_Exception *exc) { (void)reason, (void)exc; }

_Noreturn static void unwind(struct hd_thread *t) {
  struct _Unwind_Exception *exc = exception_of(t);
  exc->exception_class = 0;
  exc->exception_cleanup = cleaned;
  _Unwind_ForcedUnwind(exc, stop, t);
  hd__thread_exit(t->exit.value); /* no unwind information on the way: nothing more can be cleaned up */
}

HD_EXPORT void pthread_exit(void *ret) {
  if (!hot.active) {
    real_pthread_exit(ret);
    __builtin_unreachable();
  }
  rt.cur->exit.value = ret;
  unwind(rt.cur);
}

_Noreturn void hd__cancel(void) {
  rt.cur->cancel.disabled = true;
  rt.cur->exit.value = PTHREAD_CANCELED;
  unwind(rt.cur);
}

void hd__test_cancel(void) {
  if (HD_UNLIKELY(rt.cur->cancel.requested && !rt.cur->cancel.disabled)) hd__cancel();
}

bool hd__step_cancel(void) {
  struct hd_thread *t = rt.cur;
  t->cancel.at_point = !t->cancel.disabled;
  hd__step();
  t->cancel.at_point = false;
  if (HD_LIKELY(!t->cancel.taken)) return false;
  t->cancel.taken = false;
  hd__event(0);
  return true;
}

void hd__point_cancel(unsigned kind, uint64_t object, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  hd__take_signals();
  t->op = (struct hd_op){.kind = (uint8_t)kind, .thread = t->id, .object = object, .pc = pc};
  hd__step_or_cancel();
}

/* Takes the thread out of the wait it is in. */
static void wake_up(struct hd_thread *t) {
  struct hd_obj *o = t->wait.at;
  hd__deadline_clear(t);
  t->timer.expired = false;
  if (o && (o->kind == HD_OBJ_COND || o->kind == HD_OBJ_FUTEX))
    hd__dequeue(o, t);
  else if (o)
    hd__unpend(o, t);
  t->op = (struct hd_op){.kind = HD_OP_CANCELLED, .thread = t->id, .object = t->id, .pc = t->op.pc};
  t->cancel.taken = true;
  hd__enable(t);
}

HD_EXPORT int pthread_cancel(pthread_t th) {
  if (!hot.active) return real_pthread_cancel(th);
  struct hd_thread *t = hd__thread_find(th);
  if (!t || t->join.done) return ESRCH;
  hd__point_open(HD_OP_CANCEL, t->id, 0, HD_CALLER);
  bool waits = t->cancel.at_point && !t->cancel.requested && t->state != HD_T_DONE;
  if (waits) {
    t->cancel.op = t->op;
    rt.cur->op.aux = t->id + 1u;
    rt.cur->op.instead = &t->cancel.op;
    rt.cur->op.known = t->state == HD_T_READY;
  }
  hd__event(0);
  t->cancel.requested = true;
  if (waits) wake_up(t);
  if (t == rt.cur && t->cancel.type == PTHREAD_CANCEL_ASYNCHRONOUS) hd__test_cancel();
  return 0;
}

HD_EXPORT void pthread_testcancel(void) {
  if (hot.active)
    hd__test_cancel();
  else
    real_pthread_testcancel();
}

HD_EXPORT int pthread_setcancelstate(int state, int *old) {
  if (!hot.active) return real_pthread_setcancelstate(state, old);
  if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) return EINVAL;
  if (old) *old = rt.cur->cancel.disabled ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
  rt.cur->cancel.disabled = state == PTHREAD_CANCEL_DISABLE;
  return 0;
}

HD_EXPORT int pthread_setcanceltype(int type, int *old) {
  if (!hot.active) return real_pthread_setcanceltype(type, old);
  if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) return EINVAL;
  if (old) *old = rt.cur->cancel.type;
  rt.cur->cancel.type = type;
  return 0;
}

HD_EXPORT void __pthread_register_cancel(__pthread_unwind_buf_t *buf);
void __pthread_register_cancel(__pthread_unwind_buf_t *buf) {
  if (!hot.active) {
    real___pthread_register_cancel(buf);
    return;
  }
  *link_of(buf) = rt.cur->exit.cleanup;
  rt.cur->exit.cleanup = buf;
}

HD_EXPORT void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf);
void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf) {
  if (!hot.active) {
    real___pthread_unregister_cancel(buf);
    return;
  }
  rt.cur->exit.cleanup = *link_of(buf);
}

HD_EXPORT void __pthread_unwind_next(__pthread_unwind_buf_t *buf);
void __pthread_unwind_next(__pthread_unwind_buf_t *buf) {
  if (!hot.active) {
    real___pthread_unwind_next(buf);
    __builtin_unreachable();
  }
  rt.cur->exit.cleanup = *link_of(buf);
  unwind(rt.cur);
}
