/* annotate.c: orders, locks and fibers that programs declare to ThreadSanitizer. Runs in the tested process.
 *
 * A program that sees __SANITIZE_THREAD__ may call these functions of ThreadSanitizer's runtime. They order memory: whoever
 * acquires is ordered after all who released before. Which of two such calls comes first is a matter of the schedule,
 * so they are operations. The code of a declared lock is scheduled like any other, only its races are not reported. A
 * lock whose code is not instrumented has no operations of its own; so that threads take it in any order, the attempt
 * to lock it is one.
 *
 * A fiber is a stack that a thread changes to. The threads that run it one after the other are ordered, unless the program
 * says that they are not. */
#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/core/state.h"
#include "runtime/memory/memory.h"
#include "runtime/wrap/wrap.h"

#define U(p) ((uint64_t)(p))

static struct hd_obj *order_of(uint64_t addr) { return hd__obj(addr | HD_APART_ORDER, HD_OBJ_NONE); }

static uint32_t which(uint64_t addr) { return (uint32_t)hd_mix64(addr); }

static void publish(struct hd_vc *into) {
  hd_vc_join(&rt.arena, into, &rt.cur->vc);
  hd__new_segment(rt.cur);
}

static void acquire(const volatile void *addr, uint64_t pc) {
  if (!hot.active) return;
  hd__lookup(HD_STATE_ORDER, which(U(addr)), pc);
  hd__acquire(&order_of(U(addr))->vc);
}

static void release(const volatile void *addr, uint64_t pc) {
  if (!hot.active) return;
  hd__change(HD_STATE_ORDER, which(U(addr)), pc);
  publish(&order_of(U(addr))->vc);
}

static void ignore(int by) {
  if (hot.active && (by > 0 ? rt.cur->ignore < UINT16_MAX : rt.cur->ignore > 0))
    rt.cur->ignore = (uint16_t)(rt.cur->ignore + by);
}

#define FUNCTION(ret, name, args) \
  HD_EXPORT ret name args;        \
  ret name args

FUNCTION(void, __tsan_acquire, (void *addr)) { acquire(addr, HD_CALLER); }
FUNCTION(void, __tsan_release, (void *addr)) { release(addr, HD_CALLER); }
FUNCTION(void, __tsan_ignore_thread_begin, (void)) { ignore(1); }
FUNCTION(void, __tsan_ignore_thread_end, (void)) { ignore(-1); }
FUNCTION(void, __tsan_flush_memory, (void)) {}

/* ---- locks ---- */

#define READ_LOCK (1u << 3)
#define TRY_FAILED (1u << 5)

FUNCTION(void, __tsan_mutex_create, (void *addr, unsigned flags)) { (void)addr, (void)flags; }
FUNCTION(void, __tsan_mutex_destroy, (void *addr, unsigned flags)) {
  (void)flags;
  if (hot.active) order_of(U(addr))->vc = order_of(U(addr))->before = (struct hd_vc){0};
}

FUNCTION(void, __tsan_mutex_pre_lock, (void *addr, unsigned flags)) {
  if (flags & READ_LOCK)
    hd__lookup(HD_STATE_ORDER, which(U(addr)), HD_CALLER);
  else
    hd__change(HD_STATE_ORDER, which(U(addr)), HD_CALLER);
  ignore(1);
}

FUNCTION(void, __tsan_mutex_post_lock, (void *addr, unsigned flags, int recursion)) {
  (void)recursion;
  ignore(-1);
  if (!hot.active || (flags & TRY_FAILED)) return;
  hd__acquire(&order_of(U(addr))->vc);
  if (!(flags & READ_LOCK)) hd__acquire(&order_of(U(addr))->before);
}

FUNCTION(int, __tsan_mutex_pre_unlock, (void *addr, unsigned flags)) {
  if (hot.active) publish(flags & READ_LOCK ? &order_of(U(addr))->before : &order_of(U(addr))->vc);
  ignore(1);
  return 1; /* how often it was locked, which post_lock receives again */
}

FUNCTION(void, __tsan_mutex_post_unlock, (void *addr, unsigned flags)) {
  (void)addr, (void)flags;
  ignore(-1);
}

/* Around the code that wakes waiters, and calls out of the lock's own code. */
FUNCTION(void, __tsan_mutex_pre_signal, (void *addr, unsigned flags)) { (void)addr, (void)flags, ignore(1); }
FUNCTION(void, __tsan_mutex_post_signal, (void *addr, unsigned flags)) {
  (void)addr, (void)flags, ignore(-1);
}
FUNCTION(void, __tsan_mutex_pre_divert, (void *addr, unsigned flags)) { (void)addr, (void)flags, ignore(-1); }
FUNCTION(void, __tsan_mutex_post_divert, (void *addr, unsigned flags)) { (void)addr, (void)flags, ignore(1); }

/* ---- fibers ---- */

struct hd_fiber {
  struct hd_vc vc; /* of whoever left it last */
};

static struct hd_fiber no_fiber; /* of a process that is not controlled */

static struct hd_fiber *new_fiber(void) {
  struct hd_fiber *f = hot.active ? hd_arena_get(&rt.arena, sizeof *f) : &no_fiber;
  HD_BUG_ON(!f);
  if (f != &no_fiber) *f = (struct hd_fiber){0};
  return f;
}

static struct hd_fiber *current(void) {
  if (!hot.active) return &no_fiber;
  if (!rt.cur->fiber) rt.cur->fiber = new_fiber();
  return rt.cur->fiber;
}

#define NO_SYNC 1u

FUNCTION(void *, __tsan_get_current_fiber, (void)) { return current(); }

/* What its creator has done comes before what it does. */
FUNCTION(void *, __tsan_create_fiber, (unsigned flags)) {
  (void)flags;
  struct hd_fiber *f = new_fiber();
  if (hot.active) publish(&f->vc);
  return f;
}

FUNCTION(void, __tsan_switch_to_fiber, (void *fiber, unsigned flags)) {
  struct hd_fiber *to = fiber;
  if (!hot.active || !to || to == &no_fiber) return;
  if (!(flags & NO_SYNC)) {
    publish(&to->vc);
    publish(&current()->vc);
  }
  hd__acquire(&to->vc);
  rt.cur->fiber = to;
}

FUNCTION(void, __tsan_destroy_fiber, (void *fiber)) { (void)fiber; }
FUNCTION(void, __tsan_set_fiber_name, (void *fiber, const char *name)) { (void)fiber, (void)name; }

/* ---- accesses to objects of other languages ---- */

FUNCTION(void *, __tsan_external_register_tag, (const char *type)) { return (void *)type; }
FUNCTION(void, __tsan_external_register_header, (void *tag, const char *header)) { (void)tag, (void)header; }
FUNCTION(void, __tsan_external_assign_tag, (void *addr, void *tag)) { (void)addr, (void)tag; }
FUNCTION(void, __tsan_external_read, (void *addr, void *pc, void *tag)) {
  (void)tag;
  hd__access_range(U(addr), 1, 0, pc ? U(pc) : HD_CALLER);
}
FUNCTION(void, __tsan_external_write, (void *addr, void *pc, void *tag)) {
  (void)tag;
  hd__access_range(U(addr), 1, HD_A_WRITE, pc ? U(pc) : HD_CALLER);
}

/* ---- dynamic annotations ---- */

#define ANNOTATION(name, ...) FUNCTION(void, name, (const char *file, int line, ##__VA_ARGS__))
#define NOTHING(name) \
  FUNCTION(void, name, (void)) {} /* whatever its arguments */

#define ORDERS(name, what)                      \
  ANNOTATION(name, const volatile void *addr) { \
    (void)file, (void)line;                     \
    what(addr, HD_CALLER);                      \
  }
ORDERS(AnnotateHappensBefore, release)
ORDERS(AnnotateHappensAfter, acquire)
ORDERS(WTFAnnotateHappensBefore, release)
ORDERS(WTFAnnotateHappensAfter, acquire)
ORDERS(AnnotateCondVarSignal, release)
ORDERS(AnnotateCondVarSignalAll, release)
ORDERS(AnnotatePCQPut, release)
ORDERS(AnnotatePCQGet, acquire)
ANNOTATION(AnnotateCondVarWait, const volatile void *addr, const volatile void *lock) {
  (void)file, (void)line;
  (void)lock, acquire(addr, HD_CALLER);
}

ANNOTATION(AnnotateRWLockDestroy, const volatile void *addr) {
  (void)file, (void)line;
  __tsan_mutex_destroy((void *)addr, 0);
}
ANNOTATION(AnnotateRWLockAcquired, const volatile void *addr, long writes) {
  (void)file, (void)line;
  ignore(1);
  __tsan_mutex_post_lock((void *)addr, writes ? 0 : READ_LOCK, 1);
}
ANNOTATION(AnnotateRWLockReleased, const volatile void *addr, long writes) {
  (void)file, (void)line;
  __tsan_mutex_pre_unlock((void *)addr, writes ? 0 : READ_LOCK);
  ignore(-1);
}

#define REGION(name, by)    \
  ANNOTATION(name) {        \
    (void)file, (void)line; \
    ignore(by);             \
  }
REGION(AnnotateIgnoreReadsBegin, 1)
REGION(AnnotateIgnoreReadsEnd, -1)
REGION(AnnotateIgnoreWritesBegin, 1)
REGION(AnnotateIgnoreWritesEnd, -1)

ANNOTATION(AnnotateBenignRaceSized, const volatile void *addr, size_t size, const char *why) {
  (void)file, (void)line, (void)why;
  if (hot.active) hd__benign(U(addr), size);
}
ANNOTATION(AnnotateBenignRace, const volatile void *addr, const char *why) {
  (void)file, (void)line, (void)why;
  if (hot.active) hd__benign(U(addr), 1);
}
ANNOTATION(WTFAnnotateBenignRaceSized, const volatile void *addr, size_t size, const char *why) {
  (void)file, (void)line, (void)why;
  if (hot.active) hd__benign(U(addr), size);
}

NOTHING(AnnotateIgnoreSyncBegin)
NOTHING(AnnotateIgnoreSyncEnd)
NOTHING(AnnotateRWLockCreate)
NOTHING(AnnotateRWLockCreateStatic)
NOTHING(AnnotateMutexIsNotPHB)
NOTHING(AnnotateMutexIsUsedAsCondVar)
NOTHING(AnnotatePCQCreate)
NOTHING(AnnotatePCQDestroy)
NOTHING(AnnotatePublishMemoryRange)
NOTHING(AnnotateUnpublishMemoryRange)
NOTHING(AnnotateNewMemory)
NOTHING(AnnotateMemoryIsInitialized)
NOTHING(AnnotateMemoryIsUninitialized)
NOTHING(AnnotateTraceMemory)
NOTHING(AnnotateExpectRace)
NOTHING(AnnotateFlushExpectedRaces)
NOTHING(AnnotateFlushState)
NOTHING(AnnotateEnableRaceDetection)
NOTHING(AnnotateThreadName)
NOTHING(AnnotateNoOp)

FUNCTION(int, RunningOnValgrind, (void)) { return 0; }
FUNCTION(double, ValgrindSlowdown, (void)) { return 10.0; }
FUNCTION(const char *, ThreadSanitizerQuery, (const char *what)) {
  (void)what;
  return "0";
}
