/* cleanup.c: pthread_exit and cancellation, with the cleanup handlers on the way. Runs in the tested process.
 *
 * As in libc, leaving a thread unwinds its stack: the unwinder runs C++ destructors and cleanup attributes;
 * handlers pushed in C (pthread_cleanup_push without exceptions) are run by jumping to their buffers. The unwinding
 * ends at the first frame of the thread (hd_arch_entry), which has no caller.
 *
 * A cancelled thread acts on it at its next cancellation point. Those that are operations anyway (waits, most input and
 * output) ask hd__test_cancel; all others are operations of their own (TESTCANCEL) as soon as it is known that somebody
 * cancels the thread, which is learned like visible memory. A thread that waits at such a point is woken by the operation
 * that cancels it; its own next operation is then CANCELLED. A thread of the asynchronous type is cancelled at whatever
 * operation it is, and each of its writes is one.
 *
 * Which system calls are cancellation points says libc: it makes the thread asynchronously cancellable meanwhile. */
#include <errno.h>
#include <setjmp.h>
#include <unwind.h>

#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/modules.h"
#include "runtime/core/objects.h"
#include "runtime/core/spin.h"
#include "runtime/kernel/kernel.h"
#include "runtime/memory/memory.h"
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
    _longjmp(*(jmp_buf *)t->exit.cleanup, 1); /* returns through __pthread_unwind_next */
  if (last) hd__thread_exit(t->exit.value);
  return _URC_NO_REASON;
}

/* A handler has caught what unwinds the thread, and did not throw it again. */
static void cleaned(_Unwind_Reason_Code reason, struct _Unwind_Exception *exc) {
  (void)reason, (void)exc;
  uint64_t pc = hd__user_pc(HD_CALLER, (uint64_t)__builtin_frame_address(0));
  hd__report_simple(
      HD_KIND_ABORT, 0, pc,
      "the unwinding of a thread was caught and not rethrown (libc: \"exception not rethrown\")", true);
}

_Noreturn static void unwind(struct hd_thread *t) {
  struct _Unwind_Exception *exc = exception_of(t);
  exc->exception_class = 0;
  exc->exception_cleanup = cleaned;
  _Unwind_ForcedUnwind(exc, stop, t);
  hd__thread_exit(t->exit.value); /* no unwind information: nothing more can be cleaned up */
}

HD_EXPORT void pthread_exit(void *ret) {
  if (!hot.active) {
    real_pthread_exit(ret);
    __builtin_unreachable();
  }
  rt.cur->exit.value = ret;
  unwind(rt.cur);
}

HD_EXEC_LARGE uint64_t hd__cancel_word[HD_MAX_THREADS];

static uint64_t word_of(const struct hd_thread *t) { return (uint64_t)&hd__cancel_word[t->id]; }

static bool requested(const struct hd_thread *t) { return hd__cancel_word[t->id]; }

static void set_type(struct hd_thread *t, bool disabled, int type) {
  t->cancel.disabled = disabled;
  t->cancel.type = type;
  t->anywhere = !disabled && type == PTHREAD_CANCEL_ASYNCHRONOUS;
}

_Noreturn void hd__cancel(void) {
  struct hd_thread *t = rt.cur;
  set_type(t, true, PTHREAD_CANCEL_DEFERRED);
  t->silent = false; /* the hook under way is left */
  if (t->sys.context) hd__syscall_cancelled();
  t->exit.value = PTHREAD_CANCELED;
  unwind(t);
}

bool hd__cancel_due(void) { return requested(rt.cur) && !rt.cur->cancel.disabled; }

void hd__test_cancel(void) {
  if (HD_UNLIKELY(hd__cancel_due())) hd__cancel();
}

bool hd__cancel_matters(void) {
  struct hd_thread *t = rt.cur;
  return !t->cancel.disabled && (requested(t) || (rt.nunjoined && hd__shadow_visible(word_of(t), 8)));
}

void hd__cancel_point(uint64_t pc) {
  if (!hd__cancel_matters()) return;
  hd__test_cancel();
  hd__point_cancel(HD_OP_TESTCANCEL, rt.cur->id, pc);
  hd__event(0);
}

#define WRITES 32 /* in a row that are operations: a loop may write without end */

void hd__cancel_write(uint64_t addr, uint64_t size, uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (!hd__cancel_matters() || hd__shadow_visible(addr, size))
    return; /* a write of visible memory is an operation */
  t->cancel.writes = t->op.kind == HD_OP_TESTCANCEL ? t->cancel.writes + 1 : 0;
  if (t->cancel.writes >= WRITES) {
    hd__inexact(HD_INEXACT_LOOP_BOUND, pc);
    return;
  }
  hd__cancel_point(pc);
  hd__new_segment(rt.cur); /* the fast path must not skip the next write */
}

void hd__cancel_idle(uint64_t pc) {
  if (!hd__cancel_matters()) return;
  hd__cancel_point(pc);
  hd__test_cancel();
  hd__spin_read(word_of(rt.cur), 8);
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

void hd__leave_wait(struct hd_thread *t) {
  struct hd_obj *o = t->wait.at;
  hd__deadline_clear(t);
  t->timer.expired = false;
  if (o && (o->kind == HD_OBJ_COND || o->kind == HD_OBJ_FUTEX))
    hd__dequeue(o, t);
  else if (o)
    hd__unpend(o, t);
  rt.guard[t->id] = NULL;
  if (t->spin.waiting) rt.nspinning--;
  t->spin.waiting = false;
}

static void replace(struct hd_thread *t) {
  t->op = (struct hd_op){.kind = HD_OP_CANCELLED, .thread = t->id, .object = t->id, .pc = t->op.pc};
  t->cancel.taken = true;
}

void hd__cancel_again(void) {
  struct hd_thread *t = rt.cur;
  if (HD_LIKELY(!hd__cancel_due()) || t->cancel.taken) return;
  if (t->cancel.at_point)
    replace(t);
  else if (t->anywhere)
    hd__cancel();
}

static void wake_up(struct hd_thread *t) {
  hd__leave_wait(t);
  replace(t);
  hd__enable(t);
}

/* The thread was cancelled where it was suspended, which is no cancellation point: first code that it runs then. */
static void hd_rt_cancelled_anywhere(void) {
  struct hd_thread *t = rt.cur;
  t->cancel.taken = false;
  hd__event(0);
  if (t->sys.io) rt.nio--;
  t->sys.io = NULL;
  hd__spin_stop(t);
  for (unsigned i = 0; i < rt.nthreads; i++)
    if (rt.thread[i].join.waiter == t) rt.thread[i].join.waiter = NULL;
  hd__cancel();
}

HD_EXPORT int pthread_cancel(pthread_t th) {
  if (!hot.active) return real_pthread_cancel(th);
  struct hd_thread *t = hd__thread_named(th);
  if (!t) return ESRCH;
  hd__point_open(HD_OP_CANCEL, t->id, 0, HD_CALLER);
  bool waits = (t->cancel.at_point || t->anywhere) && t != rt.cur && !requested(t) && !t->sig.taken &&
               (t->state == HD_T_READY || t->state == HD_T_BLOCKED);
  if (waits) {
    t->replaced = t->op;
    rt.cur->op.cancel.thread = t->id + 1u;
    rt.cur->op.cancel.instead = &t->replaced;
    rt.cur->op.cancel.could = t->state == HD_T_READY;
  }
  hd__event(0);
  if (t->state == HD_T_DONE) return 0;
  hd__cancel_word[t->id] = 1;
  if (t != rt.cur) hd__shadow_show(word_of(t), 8);
  if (waits) {
    bool here = t->cancel.at_point;
    wake_up(t);
    if (!here) hd_arch_interpose(&t->ctx, hd_rt_cancelled_anywhere);
  }
  if (t == rt.cur && t->anywhere) hd__cancel();
  return 0;
}

void HD_IN(pthread_testcancel)(void);
void HD_IN(pthread_testcancel)(void) {
  if (!hot.active) {
    hd__real_init();
    real_pthread_testcancel();
    return;
  }
  struct hd_thread *t = rt.cur;
  uint64_t pc = HD_CALLER;
  if (t->cancel.disabled || (!requested(t) && hd__spin_check(word_of(t), HD_SPIN_OTHER, pc))) return;
  hd__cancel_point(pc);
  hd__test_cancel();
  hd__spin_read(word_of(t), 8);
}

HD_EXPORT int pthread_setcancelstate(int state, int *old) {
  if (!hot.active) return real_pthread_setcancelstate(state, old);
  struct hd_thread *t = rt.cur;
  if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE) return EINVAL;
  if (old) *old = t->cancel.disabled ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
  set_type(t, state == PTHREAD_CANCEL_DISABLE, t->cancel.type);
  if (t->anywhere) hd__cancel_point(HD_CALLER);
  return 0;
}

HD_EXPORT int pthread_setcanceltype(int type, int *old) {
  if (!hot.active) return real_pthread_setcanceltype(type, old);
  struct hd_thread *t = rt.cur;
  if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS) return EINVAL;
  if (old) *old = t->cancel.type;
  set_type(t, t->cancel.disabled, type);
  if (t->anywhere) hd__cancel_point(HD_CALLER);
  return 0;
}

/* ---- what libc considers a cancellation point ---- */

#define CONTROL_BLOCK 1024 /* bytes of libc's thread descriptor to look at */
static struct place {
  size_t at;
  uint8_t bits;
} async, /* where it says that the thread is asynchronously cancellable ... */
    off; /* ... and that it is not cancellable: pclose and others see to that themselves */

static void find_bits(struct place *p, int (*set)(int, int *), int value) {
  char before[CONTROL_BLOCK];
  const char *now = (const char *)hd_arch_tp();
  int old;
  hd__copy(before, now, sizeof before);
  if (set(value, &old)) return;
  for (size_t i = 0; i < sizeof before; i++)
    if (now[i] != before[i]) {
      p->at = i;
      p->bits = (uint8_t)(now[i] & ~before[i]);
    }
  set(old, NULL);
}

void hd__cancel_init(void) {
  find_bits(&async, real_pthread_setcanceltype, PTHREAD_CANCEL_ASYNCHRONOUS);
  find_bits(&off, real_pthread_setcancelstate, PTHREAD_CANCEL_DISABLE);
}

bool hd__libc_cancels(void) {
  const uint8_t *block = (const uint8_t *)hd_arch_tp();
  return (block[async.at] & async.bits) && !(block[off.at] & off.bits);
}

/* ---- cleanup handlers pushed in C ---- */

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
