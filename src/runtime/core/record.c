/* record.c: what an execution did, event by event, with the values it read and wrote: for findings that are
 * confirmed, for replays and for `heddle record`. Runs in the tested process. The hot paths test hot.log first, so
 * a search pays nothing.
 *
 * Invariants
 *  1. A read is recorded when its thread has been picked: it reads what is in memory then.
 *  2. A hook precedes its access, so the value that a write stored is read when its thread enters the runtime
 *     again, before any other thread runs (DESIGN: "the value a write stored is read back at that thread's next
 *     hook"). At most one event waits for its value.
 *  3. A write that did not happen, because the execution ended in its hook or it faulted, has no value. */
#include "runtime/core/core.h"
#include "runtime/core/finding.h"
#include "runtime/core/record.h"

static uint64_t unsettled; /* number of the event that waits for its value, from 1; 0: none */
static bool in_hook;       /* its hook has not returned yet */
static uint64_t nplain;    /* accesses recorded that were no scheduling points */

static struct hd_event *events(void) { return (struct hd_event *)(HD_SHM_BASE + HD_SHM_EVENT); }

void hd__record_begin(void) {
  unsettled = nplain = 0;
  in_hook = false;
}

bool hd__record_room(void) { return nplain < rt.config->plain; }

static bool has_value(const struct hd_event *e) {
  return hd_op_object(e->op.kind) == HD_OBJ_MEMORY && hd_op_effect(e->op.kind, 0) != HD_EFF_FREE &&
         e->op.size && e->op.size <= 8;
}

static void read_value(struct hd_event *e) {
  if (hd_arch_peek(e->op.object, e->op.size, &e->value)) e->flags |= HD_EV_VALUE;
}

void hd__record_settle(void) {
  if (!unsettled) return;
  struct hd_event *e = &events()[unsettled - 1];
  unsettled = 0;
  if (!in_hook) read_value(e);
  in_hook = false;
}

/* The entry of the next event, NULL when there is no room. It is filled in place and not on the stack: code
 * addresses left on a thread's stack would be taken for calls (hd__user_pc). */
static struct hd_event *next(void) {
  hd__record_settle();
  return rt.status->nevents < HD_EVENT_CAP ? &events()[rt.status->nevents] : NULL;
}

/* Adds the callers, in place for the same reason. */
static void add_calls(void) {
  uint64_t i = rt.status->nevents;
  if (i >= HD_CALLS_CAP) { /* enough for any reader */
    hot.log = 1;
    return;
  }
  uint64_t *call = (uint64_t *)(HD_SHM_BASE + HD_SHM_CALLS) + i * HD_CALLS;
  unsigned n = hd__walk(rt.cur, 0, call, HD_CALLS);
  while (n < HD_CALLS) call[n++] = 0;
}

static void add(struct hd_event *e) {
  if (rt.config->callers) add_calls();
  if (has_value(e)) {
    if (hd_op_effect(e->op.kind, 0) == HD_EFF_UPDATE)
      e->op.access.known = hd_arch_peek(e->op.object, e->op.size, &e->op.access.found);
    if (hd_op_does(e->op.kind, 0, HD_EFF_CHANGES)) {
      unsettled = rt.status->nevents + 1;
      in_hook = true;
    } else {
      read_value(e);
    }
  }
  rt.status->nevents++;
}

/* Clears all of the entry but the operation. */
static void begin_event(struct hd_event *e, unsigned flags) {
  e->flags = (uint8_t)flags;
  e->value = 0;
  e->from = e->place = 0;
  e->choice = e->nchoices = 0;
}

void hd__record_op(const struct hd_op *op, unsigned flags) {
  struct hd_event *e = next();
  if (!e) return;
  e->op = *op;
  if (has_value(e)) e->op.access.known = 0; /* is read again */
  hd_payload_strip(&e->op);
  if (hd_op_effect(op->kind, 0) == HD_EFF_BEGIN && rt.cur->start.fn)
    e->op.pc = (uint64_t)rt.cur->start.fn + 1;
  begin_event(e, flags);
  e->choice = rt.choice;
  e->nchoices = rt.nchoices;
  add(e);
}

void hd__record_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, unsigned order,
                       uint64_t pc) {
  struct hd_event *e = next();
  if (!e) return;
  e->op.kind = (uint8_t)kind;
  e->op.section = HD_SECTION_NONE;
  e->op.thread = rt.cur->id;
  e->op.size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  e->op.object = addr;
  e->op.pc = pc;
  e->op.payload[0] = e->op.payload[1] = e->op.payload[2] = 0;
  if (order != HD_MO_NONE) e->op.access.order = (uint8_t)order;
  begin_event(e, flags);
  add(e);
  if (flags & HD_EV_PLAIN) nplain++;
}

void hd__record_branch(uint64_t pc) {
  uint64_t n = rt.status->nevents;
  if (!n || n > HD_EVENT_CAP || !hd__record_room()) return;
  const struct hd_op *last = &events()[n - 1].op;
  if (last->kind != HD_OP_BRANCH || last->thread != rt.cur->id)
    hd__record_access(HD_OP_BRANCH, 0, 0, HD_EV_PLAIN, HD_MO_NONE, pc);
}

void hd__record_undo(void) {
  rt.status->nevents--;
  nplain--;
  unsettled = 0;
  in_hook = false;
}

void hd__record_done(void) { in_hook = false; }

void hd__record_fault(uint64_t addr) {
  if (unsettled && addr - events()[unsettled - 1].op.object < events()[unsettled - 1].op.size) unsettled = 0;
}
