/* record.h: what is noted about an execution while it runs: its events (record.c), the places it exercised (cover.c),
 * its scheduling points for a debugger (debug.c), the program's own notes (api.c). */
#ifndef HD_RUNTIME_RECORD_H
#define HD_RUNTIME_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/core/core.h"

/* ---- record.c: every event. pre, except for begin: hot.log ---- */

void hd__record_begin(void);
/* The running thread executes its pending operation. */
void hd__record_op(const struct hd_op *op, unsigned flags);
/* The running thread does something that is no operation of the schedule: a memory access (HD_EV_PLAIN), or a note. */
void hd__record_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, unsigned order,
                       uint64_t pc);
/* The running thread comes to another block of the program. Several in a row are one. */
void hd__record_branch(uint64_t pc);
/* Whether there is room left for accesses to memory that only one thread may have touched. */
bool hd__record_room(void);
/* Removes the access recorded last: it becomes a scheduling point, and others run first. */
void hd__record_undo(void);
/* The hook that recorded a write returns: from now on the write is done. */
void hd__record_done(void);
/* Reads the values that the running thread has written, before another thread can overwrite them. */
void hd__record_settle(void);
/* The access to addr has failed. */
void hd__record_fault(uint64_t addr);

/* ---- cover.c: the places and conflicts that the search exercised ---- */

/* The slow part of hd__cover_begin: decides whether this execution is observed. */
void hd__cover_observe(void);
/* The last execution was observed: counts what was new in it. */
void hd__cover_observed(void);
/* In fork mode: this process ends, and its parent goes on. */
HD_EACH void hd__cover_pass(void);
HD_EACH void hd__cover_passed(void);
/* The search is over for this process. */
void hd__cover_end(void);
static inline void hd__cover_begin(void) {
  if (HD_UNLIKELY(hot.cover)) hd__cover_observed();
  if (HD_LIKELY(rt.cover_skip))
    rt.cover_skip--;
  else
    hd__cover_observe();
}
/* The table of this worker. */
struct hd_cover *hd__cover_table(void);
/* Whether creating and joining threads alone orders what thread a did in segment `seg` before what b does now, and if so,
 * whether one of the two created, or joined, the other or its creators; else a third did. */
enum hd_fixed { HD_FIXED_NOT, HD_FIXED_FAMILY, HD_FIXED_APART };
enum hd_fixed hd__cover_fixed(unsigned a, uint32_t seg, const struct hd_thread *b);
/* An operation of the schedule is executed. pre: hot.cover. */
void hd__cover_event(const struct hd_op *op);
/* The running thread's access at pc conflicts with an earlier one by another thread, in segment `seg` at the place
 * that the shadow memory stores as `site`. pre: hot.cover. */
void hd__cover_access(uint32_t seg, uint64_t site, unsigned first_op, uint64_t pc, unsigned op,
                      uint64_t object);

/* ---- lockorder.c: locks that threads take in different orders. pre: hot.cover ---- */

/* The running thread has executed an operation. */
void hd__lockorder_event(const struct hd_op *op, unsigned flags);
/* Locks at these addresses are no longer those that were there. */
void hd__lockorder_forget(uint64_t at, uint64_t size);

/* ---- debug.c: scheduling points for a debugger. pre: hot.log ---- */

enum hd_debug_reason { HD_DEBUG_POINT = 1, HD_DEBUG_FINDING };
/* A scheduling point, seen by the thread that continues from it. */
void hd__debug_point(void);
/* A finding is recorded. */
void hd__debug_finding(struct hd_finding_rec *f);
static inline void hd__debug_look(void) {
  if (HD_UNLIKELY(hot.log)) hd__debug_point();
}

/* ---- api.c: notes of the program ---- */

HD_EACH void hd__notes_begin(void);
/* Copies the notes of this execution into the finding. */
void hd__notes_take(struct hd_finding_rec *f);

#endif
