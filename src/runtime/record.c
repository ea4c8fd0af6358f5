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
#include "runtime/rt.h"

static uint64_t unsettled; /* number of the event that waits for its value, from 1; 0: none */
static bool in_hook;       /* its hook has not returned yet */

static struct hd_event *events(void) { return (struct hd_event *)(HD_SHM_BASE + HD_SHM_EVENT); }

void hd__record_begin(void) {
  unsettled = 0;
  in_hook = false;
}

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

void hd__record(const struct hd_event *e) {
  hd__record_settle();
  if (rt.status->nevents >= HD_EVENT_CAP) return;
  struct hd_event *to = &events()[rt.status->nevents];
  *to = *e;
  if (has_value(to)) {
    bool rmw = to->op == HD_OP_ARMW || to->op == HD_OP_ACAS;
    if (rmw && hd_arch_peek(to->object, to->size, &to->aux)) to->flags |= HD_EV_FOUND;
    if (hd_op_effect[to->op] == HD_EFF_WRITE) {
      unsettled = rt.status->nevents + 1;
      in_hook = true;
    } else {
      read_value(to);
    }
  }
  rt.status->nevents++;
}

void hd__record_op(const struct hd_op *op, unsigned flags) {
  struct hd_event e = {.thread = op->thread,
                       .op = op->kind,
                       .flags = (uint8_t)flags,
                       .size = op->size,
                       .object = op->object,
                       .pc = op->pc};
  unsigned object = hd_op_object[op->kind];
  if (op->kind == HD_OP_CHOOSE) e.aux = rt.choice;
  if (op->kind == HD_OP_START && rt.cur->start) e.pc = (uint64_t)rt.cur->start + 1;
  /* Of memory it is what a compare-and-swap expects, of descriptors a place in our memory. */
  if (object != HD_OBJ_MEMORY && object != HD_OBJ_IO && object != HD_OBJ_NONE && object != HD_OBJ_BARRIER)
    e.aux = op->aux;
  hd__record(&e);
}

void hd__record_access(unsigned kind, uint64_t addr, uint64_t size, unsigned flags, uint64_t pc) {
  hd__record(&(struct hd_event){.thread = rt.cur->id,
                                .op = (uint8_t)kind,
                                .flags = (uint8_t)(flags | HD_EV_PLAIN),
                                .size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size,
                                .object = addr,
                                .pc = pc});
}

void hd__record_undo(void) {
  rt.status->nevents--;
  unsettled = 0;
  in_hook = false;
}

void hd__record_done(void) { in_hook = false; }

void hd__record_fault(uint64_t addr) {
  if (unsettled && addr - events()[unsettled - 1].object < events()[unsettled - 1].size) unsettled = 0;
}
