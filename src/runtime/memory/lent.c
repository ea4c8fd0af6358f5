/* lent.c: local variables that other threads access, and functions that return meanwhile. Runs in the tested process.
 *
 * A return is not a scheduling point, and what lies in a dead frame is no memory of its own: a thread that accesses a
 * variable of a function that has returned is not found as one that accesses freed memory is. So it is noted when that can
 * happen: a function returned, or a thread ended, while an access to its frame by another thread was not ordered before.
 *
 * Frames are known by the hooks of function entries: an entry of the call stack has the stack pointer inside the function.
 *
 * Invariants
 *  1. A thread's clock does not grow between two of its scheduling points. So it is enough to look at each of them, before
 *     its operation, whether a frame with such accesses is gone.
 *  2. An address below the innermost frame may have been made by alloca: it counts as part of that frame, if it is above the
 *     stack pointer with which the thread called the function that it is in. Else nothing lives there. */
#include "runtime/core/core.h"
#include "runtime/core/drive.h"
#include "runtime/core/finding.h"
#include "runtime/memory/memory.h"

#define LENT 256
static HD_EXEC_LARGE struct {
  uint16_t owner, user;
  uint32_t depth; /* of the owner's call stack: the frame is gone when it is less */
  uint32_t clock; /* of the user at its last access */
  uint64_t pc;    /* of that access */
} lent[LENT];
static HD_EXEC unsigned nlent;
static HD_EXEC uint32_t lent_epoch;

static void cover(char *lo, char *hi, unsigned number) {
  (void)number;
  uint64_t end = rt.stacks.size ? rt.stacks.lo + rt.stacks.size : 0;
  if ((uint64_t)lo < rt.stacks.lo) rt.stacks.lo = (uint64_t)lo;
  rt.stacks.size = ((uint64_t)hi > end ? (uint64_t)hi : end) - rt.stacks.lo;
}

void hd__lent_init(void) {
  rt.stacks = (struct hd_stacks){UINT64_MAX, 0, hd__first_stack_end() - HD_FIRST_STACK};
  hd__ident_each_stack(cover);
}

static uint32_t depth_of(const struct hd_thread *t, uint64_t addr) {
  uint32_t d = (uint32_t)(t->call - t->calls), k = d;
  while (k > 0 && addr >= t->calls[k - 1].sp) k--;
  return k < d ? k + 1 : d;
}

/* Where the program's stack ends at its call of the function that the thread waits in: just above the return address. 0: not
 * known. */
static uint64_t called_at(const struct hd_thread *t) {
  uint64_t top = t->calls[t->call - t->calls - 1].sp, low = (uint64_t)t->ctx.sp;
  if (low > top || top - low > 1u << 20) return 0; /* it is on another stack */
  for (uint64_t at = (top & ~7ull) + 16; at >= low;
       at -= 8) /* the hook of the entry has noted its own frame */
    if (*(const uint64_t *)at == t->op.pc) return at + 8;
  return 0;
}

/* Invariant 2. pre: the address is below the thread's innermost frame. */
static bool is_dead(const struct hd_thread *t, uint64_t addr) {
  uint64_t end = called_at(t);
  return end && addr < end && end - addr < HD_FIRST_STACK;
}

static void note(uint64_t pc) { hd__inexact(HD_INEXACT_DEAD_FRAME, pc); }

void hd__lend(uint64_t addr, bool write, uint64_t pc) {
  struct hd_thread *me = rt.cur, *owner = NULL;
  if (addr - rt.stacks.first < HD_FIRST_STACK) {
    owner = &rt.thread[0];
  } else {
    if (!hd__ident_end(addr)) return; /* a library, or another mapping */
    owner = hd__ident_user(addr);
    if (owner && addr >= (uint64_t)owner->ident->frame) return; /* thread-local */
  }
  if (owner == me) return;
  if (owner && write && owner->spin.waiting) hd__spin_lent(owner, addr);
  if (!owner || owner->state == HD_T_DONE || owner->call == owner->calls) {
    if (!owner || owner->state == HD_T_DONE || owner->op.kind == HD_OP_EXIT || owner->op.kind == HD_OP_END)
      note(pc);
    return;
  }
  if (addr < owner->call[-1].sp && is_dead(owner, addr)) {
    note(pc);
    return;
  }
  uint32_t depth = depth_of(owner, addr), clock = hd_vc_get(&me->vc, me->id);
  if (lent_epoch != rt.epoch) nlent = 0;
  lent_epoch = rt.epoch;
  unsigned i = 0;
  while (i < nlent && !(lent[i].owner == owner->id && lent[i].user == me->id && lent[i].depth == depth)) i++;
  if (i == LENT) {
    note(pc);
    return;
  }
  if (i == nlent) {
    lent[nlent].owner = owner->id;
    lent[nlent].user = me->id;
    lent[nlent++].depth = depth;
  }
  lent[i].clock = clock;
  lent[i].pc = pc;
  if (depth > owner->lends) owner->lends = depth;
}

void hd__returned(void) {
  struct hd_thread *me = rt.cur;
  uint32_t depth = (uint32_t)(hot.call - me->calls), most = 0;
  unsigned n = 0;
  for (unsigned i = 0; lent_epoch == rt.epoch && i < nlent; i++) {
    if (lent[i].owner == me->id && lent[i].depth > depth) {
      if (hd_vc_get(&me->vc, lent[i].user) < lent[i].clock) note(lent[i].pc);
      continue;
    }
    if (lent[i].owner == me->id && lent[i].depth > most) most = lent[i].depth;
    lent[n++] = lent[i];
  }
  nlent = n;
  me->lends = most;
}
