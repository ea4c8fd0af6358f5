/* order_io.c: dependencies of operations on descriptors. Runs in the tested process.
 *
 * An operation names an object (a channel or a file, or 0 for all of them) and the facets of it that it reads and
 * writes. The operation itself carries the events that enabled and disabled it. */
#include "model/order_int.h"

#define IO_KEY ((HD_MAX_THREADS + 2ull) * 4) /* neither a thread's (order_sync.c) nor an address */

/* Whether the operation would be enabled without e and its successors. */
static int possible_without(const struct hd_work *w, uint32_t e) {
  const uint32_t *alt = w->op->ready.alternatives;
  for (uint32_t i = 1; alt && i <= alt[0]; i++)
    if (alt[i] == 0 || (alt[i] - 1 != e && (alt[i] - 1 < e || !hd_order_before(w->t, e, alt[i] - 1))))
      return 1;
  return !alt;
}

/* All operations are in one list, since some concern every object. The scan stops at a write to the same object that
 * covers all facets of this operation: earlier operations are ordered before that write. */
void hd__on_io(struct hd_work *w) {
  if (w->op->ready.alternatives ? w->f == HD_NONE : !hd__on_enabled(w)) return;
  struct hd_tobj *o = hd__tobj(w->t, IO_KEY);
  uint32_t mine = (w->op->size | w->op->size >> 16) & 0xffff;
  if (w->flags &
      HD_EV_LATE) /* time passed because nothing else could run: all earlier events happen before */
    for (uint32_t i = 0; i < w->t->nthreads; i++)
      if (w->t->last[i] != HD_NONE) hd__join(w, w->t->last[i]);
  for (struct hd_link *l = o->list; l; l = l->next) {
    const struct hd_op *op = &w->t->ev[l->ev].op;
    if (op->thread != w->op->thread && hd_io_dependent(op, w->op)) {
      if (possible_without(w, l->ev))
        hd__meet(w, l->ev);
      else
        hd__join(w, l->ev);
    }
    if (op->object == w->op->object && !(mine & ~(op->size >> 16))) break;
  }
  hd__remember(w, o);
}
