/* wrap_cleanup.c: pthread_exit, and cleanup handlers on the way. Runs in the tested process.
 *
 * As in libc, leaving a thread unwinds its stack: C++ destructors and cleanup attributes run by the unwinder,
 * handlers pushed in C (pthread_cleanup_push without exceptions) by jumping to their buffers. The unwinding
 * ends at the first frame of the thread (hd_arch_entry), which has no caller. */
#include <setjmp.h>
#include <unwind.h>

#include "runtime/rt.h"

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
  if (t->cleanup && (last || (uint64_t)t->cleanup < _Unwind_GetCFA(context)))
    _longjmp(*(jmp_buf *)t->cleanup, 1); /* comes back through __pthread_unwind_next */
  if (last) hd__thread_exit(t->ret);
  return _URC_NO_REASON;
}

static void cleaned(_Unwind_Reason_Code reason, struct _Unwind_Exception *exc) { (void)reason, (void)exc; }

_Noreturn static void unwind(struct hd_thread *t) {
  struct _Unwind_Exception *exc = exception_of(t);
  exc->exception_class = 0;
  exc->exception_cleanup = cleaned;
  _Unwind_ForcedUnwind(exc, stop, t);
  hd__thread_exit(t->ret); /* no unwind information on the way: nothing more can be cleaned up */
}

HD_EXPORT void pthread_exit(void *ret) {
  if (!hot.active) {
    real_pthread_exit(ret);
    __builtin_unreachable();
  }
  rt.cur->ret = ret;
  unwind(rt.cur);
}

HD_EXPORT void __pthread_register_cancel(__pthread_unwind_buf_t *buf);
void __pthread_register_cancel(__pthread_unwind_buf_t *buf) {
  if (!hot.active) {
    real___pthread_register_cancel(buf);
    return;
  }
  *link_of(buf) = rt.cur->cleanup;
  rt.cur->cleanup = buf;
}

HD_EXPORT void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf);
void __pthread_unregister_cancel(__pthread_unwind_buf_t *buf) {
  if (!hot.active) {
    real___pthread_unregister_cancel(buf);
    return;
  }
  rt.cur->cleanup = *link_of(buf);
}

HD_EXPORT void __pthread_unwind_next(__pthread_unwind_buf_t *buf);
void __pthread_unwind_next(__pthread_unwind_buf_t *buf) {
  if (!hot.active) {
    real___pthread_unwind_next(buf);
    __builtin_unreachable();
  }
  rt.cur->cleanup = *link_of(buf);
  unwind(rt.cur);
}
