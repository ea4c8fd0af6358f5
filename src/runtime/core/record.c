/* record.c: what an execution did, event by event, with the values it read and wrote: for findings that are
 * confirmed, for replays and for `heddle record`. Runs in the tested process. The hot paths ask for hot.log first,
 * so a search pays nothing.
 *
 * Invariants
 *  1. A read is recorded when its thread has been picked: what is in memory then is what it reads.
 *  2. A hook comes before its access, so what a write stored is read back when its thread enters the runtime again,
 *     before anybody else runs (DESIGN: "the value a write stored is read back at that thread's next hook"). At most
 *     one event waits for that.
 *  3. A write that did not happen, since the execution ended in its hook or it faulted, has no value. */
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
  return hd_op_object[e->op] == HD_OBJ_MEMORY && e->op != HD_OP_FREE && e->size && e->size <= 8;
}

static void read_value(struct hd_event *e) {
  if (hd_arch_peek(e->object, e->size, &e->value)) e->flags |= HD_EV_VALUE;
}

void hd__record_settle(void) {
  if (!unsettled) return;
  struct hd_event *e = &events()[unsettled - 1];
  unsettled = 0;
  if (!in_hook) read_value(e);
  in_hook = false;
}

/* The entry of the next event, NULL when there is no room. It is filled in there and not on the stack: addresses of
 * code that we left on a thread's stack would be taken for calls (hd__user_pc). */
static struct hd_event *next(void) {
  hd__record_settle();
  return rt.status->nevents < HD_EVENT_CAP ? &events()[rt.status->nevents] : NULL;
}

/* Who called, written in place for the same reason. */
static void add_calls(void) {
  uint64_t i = rt.status->nevents;
  if (i >= HD_CALLS_CAP) { /* nobody wants to read about more accesses than that */
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
    bool rmw = e->op == HD_OP_ARMW || e->op == HD_OP_ACAS;
    if (rmw && hd_arch_peek(e->object, e->size, &e->aux)) e->flags |= HD_EV_FOUND;
    if (hd_op_effect[e->op] == HD_EFF_WRITE) {
      unsettled = rt.status->nevents + 1;
      in_hook = true;
    } else {
      read_value(e);
    }
  }
  rt.status->nevents++;
}

void hd__record_op(const struct hd_op *op, unsigned flags) {
  struct hd_event *e = next();
  if (!e) return;
  unsigned object = hd_op_object[op->kind];
  e->thread = op->thread;
  e->op = op->kind;
  e->flags = (uint8_t)flags;
  e->size = op->size;
  e->object = op->object;
  e->pc = op->kind == HD_OP_START && rt.cur->start.fn ? (uint64_t)rt.cur->start.fn + 1 : op->pc;
  e->value = 0;
  /* Of memory it is what a compare-and-swap expects, of descriptors a place in our memory. */
  bool told =
      object != HD_OBJ_MEMORY && object != HD_OBJ_IO && object != HD_OBJ_NONE && object != HD_OBJ_BARRIER;
  e->aux = op->kind == HD_OP_CHOOSE ? rt.choice : told ? op->aux : 0;
  add(e);
}

void hd__record_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  struct hd_event *e = next();
  if (!e) return;
  e->thread = rt.cur->id;
  e->op = (uint8_t)kind;
  e->flags = (uint8_t)flags;
  e->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  e->object = addr;
  e->pc = pc;
  e->value = e->aux = 0;
  add(e);
  if (flags & HD_EV_PLAIN) nplain++;
}

void hd__record_undo(void) {
  rt.status->nevents--;
  nplain--;
  unsettled = 0;
  in_hook = false;
}

void hd__record_done(void) { in_hook = false; }

void hd__record_fault(uint64_t addr) {
  if (unsettled && addr - events()[unsettled - 1].object < events()[unsettled - 1].size) unsettled = 0;
}
