/* section.c: atomic sections of the program: hd_atomic_begin and hd_atomic_end. Runs in the tested process.
 *
 * Invariants
 *  1. While rt.section is set only that thread is picked.
 *  2. A thread that has to wait leaves its section, and the operation it waited for enters it again: that operation
 *     competes with others like the start of a section. Creating and joining threads, and operations that have no
 *     place in the order of sections (order_section.c, invariant 4), always do this.
 *  3. For the race detector sections are ordered with each other, as by one lock, and with nothing else. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/spin.h"

void hd__section_leave(void) {
  if (rt.section != rt.cur) return;
  rt.section = NULL;
  hd__release(&rt.section_vc);
}

bool hd__section_continues(void) {
  struct hd_thread *t = rt.section;
  if (t->state == HD_T_READY && hd_op_is(t->op.kind, HD_TRAIT_INSIDE)) {
    t->op.section = HD_SECTION_INSIDE;
    return true;
  }
  t->op.section = HD_SECTION_ENTERS;
  hd__section_leave();
  return false;
}

void hd__section_enter(struct hd_thread *t) {
  rt.section = t;
  t->op.section = HD_SECTION_ENTERS;
  hd_vc_join(&rt.arena, &t->vc, &rt.section_vc);
}

/* ---- the functions ---- */

void hd__atomic_begin(uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (t->section) {
    t->section++;
    return;
  }
  hd__spin_check(0, HD_SPIN_OTHER, pc); /* a waiting loop may read in a section in each round */
  t->section = 1;
  t->op = (struct hd_op){.kind = HD_OP_SECTION, .section = HD_SECTION_ENTERS, .thread = t->id, .pc = pc};
  hd__step();
  hd__event(0);
}

void hd__atomic_end(uint64_t pc) {
  struct hd_thread *t = rt.cur;
  if (!t->section) hd__report_simple(HD_KIND_ASSERTION, 0, pc, "hd_atomic_end without hd_atomic_begin", true);
  if (--t->section == 0) hd__section_leave();
}

void HD_IN(hd_rt_atomic_begin)(void);
void HD_IN(hd_rt_atomic_begin)(void) {
  if (hot.active) hd__atomic_begin(HD_CALLER);
}

HD_EXPORT void hd_rt_atomic_end(void);
void hd_rt_atomic_end(void) {
  if (hot.active) hd__atomic_end(HD_CALLER);
}
