/* debug.c: what a debugger needs to stand inside an execution. Runs in the tested process.
 *
 * A debugger sees one kernel thread that changes stacks, and others that sleep. `heddle_debug` tells it where the
 * tested threads are: a table of addresses and offsets, so that a script can read the runtime's structures whether or
 * not there is debugging information for them. src/gdb/heddle_threads.py is the reader; a change of the table changes
 * the version in both.
 *
 * Scheduling points are numbered from 1, in the order of the schedule, and seen on the stack of the thread that has
 * been picked, just before it executes its pending operation. `heddle_debug_stop` is called at those that the debugger
 * asked for, and when the finding is on record. */
#include "runtime/core/core.h"
#include "runtime/core/objects.h"
#include "runtime/core/record.h"

#define HD_DEBUG_VERSION 1
#define OF_THREAD(field) offsetof(struct hd_thread, field)

/* All words of 8 bytes, read by position. */
struct hd_debug {
  uint64_t version;
  uint64_t
      stop_point; /* written by the debugger: stop at this scheduling point or, if it was passed, the next */
  uint64_t stop_event; /* written by the debugger: the same, for the point before this operation, from 1 */
  uint64_t reason;     /* why heddle_debug_stop was called */
  /* Addresses. */
  uint64_t points;  /* scheduling points reached */
  uint64_t *events; /* operations of the schedule executed so far */
  const char *const *op_text;
  const uint8_t *op_kind_object;    /* byte for each operation: enum hd_obj_kind */
  struct hd_thread **cur, **thread; /* the running one, and the first of the array */
  unsigned *nthreads;
  void (*sigreturn)(void);    /* where our signal handlers return to: the context is on the stack there */
  uint8_t *active, *selector; /* both are 0 while tested code runs on the debugger's behalf */
  /* Of one thread. */
  uint64_t stride, sp, tp, op_kind, op_object, op_pc, state, parent, nth, name, start, syscall, wait;
  /* Of the object it waits at. */
  uint64_t object_owner;
};

/* Seen from outside, so that a runtime without symbols will do; but nothing that the program calls. */
#pragma GCC visibility push(default)

extern struct hd_debug heddle_debug;
struct hd_debug heddle_debug = {
    .version = HD_DEBUG_VERSION,
    .points = HD_SHM_BASE + offsetof(struct hd_ctl, status.points),
    .events = &rt.events,
    .op_text = hd_op_text,
    .op_kind_object = hd_op_object,
    .cur = &rt.cur,
    .thread = &rt.thread,
    .nthreads = &rt.nthreads,
    .sigreturn = hd_arch_sigreturn,
    .active = &hot.active,
    .selector = &hot.selector,
    .stride = sizeof(struct hd_thread),
    .sp = OF_THREAD(ctx.sp),
    .tp = OF_THREAD(ctx.tp),
    .op_kind = OF_THREAD(op.kind),
    .op_object = OF_THREAD(op.object),
    .op_pc = OF_THREAD(op.pc),
    .state = OF_THREAD(state),
    .parent = OF_THREAD(parent),
    .nth = OF_THREAD(nth),
    .name = OF_THREAD(attr.name),
    .start = OF_THREAD(start.fn),
    .syscall = OF_THREAD(sys.context),
    .wait = OF_THREAD(wait.at),
    .object_owner = offsetof(struct hd_obj, owner),
};

HD_EXPORT void heddle_debug_stop(void);
__attribute__((noinline)) void heddle_debug_stop(void) { __asm__ volatile("" : : : "memory"); }

#pragma GCC visibility pop

static void stop(unsigned reason) {
  heddle_debug.reason = reason;
  heddle_debug_stop();
}

void hd__debug_point(void) {
  struct hd_status *st = rt.status;
  st->points++;
  if (!rt.config->debug) return;
  if (st->points >= heddle_debug.stop_point || rt.events + 1 >= heddle_debug.stop_event) stop(HD_DEBUG_POINT);
}

void hd__debug_finding(struct hd_finding_rec *f) {
  f->point = rt.status->points;
  if (rt.config->debug) stop(HD_DEBUG_FINDING);
}
