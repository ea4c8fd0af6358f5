/* order_io.c: dependencies of operations on descriptors. Runs in the tested process.
 *
 * An operation names an object (a channel or a file, or 0 for all of them) and the facets of it that it reads and
 * writes. The operation itself carries the events that enabled and disabled it. */
#include "model/order_int.h"

#define IO_KEY ((HD_MAX_THREADS + 2ull) * 4) /* neither a thread's (order_sync.c) nor an address */
#define LIFE_KEY (IO_KEY + 4)

/* Whether the operation would be enabled without e and its successors. */
static int possible_without(const struct hd_work *w, uint32_t e) {
  const uint32_t *alt = w->op->ready.alternatives;
  for (uint32_t i = 1; alt && i <= alt[0]; i++)
    if (alt[i] == 0 || (alt[i] - 1 != e && (alt[i] - 1 < e || !hd_order_before(w->t, e, alt[i] - 1))))
      return 1;
  return !alt;
}

/* Meets the operations of the list. The scan stops at a write to the same object that covers these facets: earlier
 * operations are ordered before that write. Of the thread's own operations in a row only the last is looked at: a loop may
 * have made any number of them. */
static void meet_list(struct hd_work *w, const struct hd_tobj *o, uint32_t facets) {
  for (const struct hd_link *l = o->list; l;) {
    const struct hd_op *op = &w->t->ev[l->ev].op;
    int own = op->thread == w->op->thread;
    if (!own && hd_io_dependent(op, w->op)) {
      if (possible_without(w, l->ev))
        hd__meet(w, l->ev);
      else
        hd__join(w, l->ev);
    }
    if (op->object == w->op->object && !(facets & ~(op->size >> 16))) break;
    l = own ? l->run : l->next;
  }
}

static void remember(struct hd_work *w, struct hd_tobj *o) {
  struct hd_link *last = o->list;
  hd__remember(w, o);
  if (o->list != last && last)
    o->list->run = w->t->ev[last->ev].op.thread == w->op->thread ? last->run : last;
}

/* All operations are in one list, since some concern every object. Those that open, close or redirect descriptions
 * are in a second one too: nearly every operation depends on these few, and none covers them. */
void hd__on_io(struct hd_work *w) {
  if (w->op->ready.alternatives ? w->f == HD_NONE : !hd__on_enabled(w)) return;
  uint32_t writes = w->op->size >> 16, mine = (w->op->size & 0xffff) | writes;
  if (w->flags & HD_EV_LATE) w->clock[HD_LATE(w->t)] = w->f; /* nothing else could run when its time came */
  meet_list(w, hd__tobj(w->t, IO_KEY), writes & HD_IO_LIFE ? mine : mine & ~HD_IO_LIFE);
  if ((mine & HD_IO_LIFE) && !(writes & HD_IO_LIFE)) meet_list(w, hd__tobj(w->t, LIFE_KEY), UINT32_MAX);
  remember(w, hd__tobj(w->t, IO_KEY));
  if (writes & HD_IO_LIFE) remember(w, hd__tobj(w->t, LIFE_KEY));
}
