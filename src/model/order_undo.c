/* order_undo.c: restores a trace to an earlier point, so that a prefix shared with the previous execution is not
 * analysed again. Runs in the tested process. Part of order.c.
 *
 * A trace is one stack (its arena) and a few tables. Before an event changes data in place, they are saved on the
 * stack.
 *
 * Invariants
 *  1. mark[i] is the state before event i, for every known i (below max(n, kept)), and mark[n] when `ended`; it is
 *     valid only while `logging`.
 *  2. All data changed in place, except the state of the event's own thread in mark[i], are saved between mark[i] and
 *     the change. Restoring proceeds event by event, latest first, in the reverse order of the changes.
 *  3. While n < kept, the tables are those after event kept - 1. They must be restored to n before they are read
 *     (hd_order_settle).
 *  4. When memory below a mark is replaced by new memory above it (clocks are widened, a table grows), the next
 *     execution is analysed from its beginning. */
#include "model/order_int.h"

struct hd_undo {
  struct hd_undo *next;
  uint64_t *at;
  uint64_t words;
  uint64_t was[];
};

void hd_order_save(struct hd_order *t, void *at, uint32_t size) {
  if (!t->logging) return;
  struct hd_undo *u = hd_order_get(t, sizeof *u + size);
  u->next = t->undo;
  u->at = at;
  u->words = size / 8;
  for (uint64_t i = 0; i < u->words; i++) u->was[i] = u->at[i];
  t->undo = u;
}

void hd_order_save_thread(struct hd_order *t, uint32_t i) {
  if (!t->logging || i >= t->mark[t->n - 1].nthreads) return; /* this event created it */
  hd_order_save(t, &t->cause[i & ~1u], 8);
  hd_order_save(t, &t->waits[i], 8);
  hd_order_save(t, &t->gate[i], 8);
}

void hd_order_mark(struct hd_order *t, uint32_t thread) {
  int known = thread < t->nthreads;
  t->mark[t->n] = (struct hd_mark){.next = t->arena.next,
                                   .undo = t->undo,
                                   .waits = known ? t->waits[thread] : 0,
                                   .gate = known ? t->gate[thread] : NULL,
                                   .cause = known ? t->cause[thread] : HD_NONE,
                                   .barrier = t->barrier,
                                   .section = t->section,
                                   .section_last = t->section_last,
                                   .interrupt = t->interrupt,
                                   .narrow = t->narrow,
                                   .nraces = t->nraces,
                                   .nthreads = t->nthreads,
                                   .table_used = t->table_used};
}

static void restore(struct hd_order *t, const struct hd_undo *until) {
  while (t->undo != until) {
    struct hd_undo *u = t->undo;
    for (uint64_t i = 0; i < u->words; i++) u->at[i] = u->was[i];
    t->undo = u->next;
  }
}

/* Restores the tables to the state before event k. */
static void take_back(struct hd_order *t, uint32_t k) {
  uint32_t known = t->n > t->kept ? t->n : t->kept;
  if (t->ended) restore(t, t->mark[known].undo);
  for (uint32_t i = known; i-- > k;) {
    const struct hd_mark *m = &t->mark[i];
    unsigned thread = t->ev[i].op.thread;
    restore(t, m->undo);
    t->last[thread] = t->ev[i].prev;
    t->cause[thread] = m->cause;
    t->waits[thread] = m->waits;
    t->gate[thread] = m->gate;
  }
  if (k < known || t->ended) {
    const struct hd_mark *m = &t->mark[k];
    t->arena.next = m->next;
    t->barrier = m->barrier;
    t->section = m->section;
    t->section_last = m->section_last;
    t->interrupt = m->interrupt;
    t->narrow = m->narrow;
    t->nraces = m->nraces;
    t->nthreads = m->nthreads;
    t->table_used = m->table_used;
  }
  t->ended = 0;
  t->kept = k;
  if (t->renewed >= k) t->renewed = HD_NONE;
}

void hd_order_settle(struct hd_order *t) {
  if (t->n < t->kept) take_back(t, t->n);
}

uint32_t hd_order_races_before(const struct hd_order *t, uint32_t event) {
  return t->logging && event < t->n ? t->mark[event].nraces : 0;
}

static int same(const struct hd_ev *e, const struct hd_op *op, unsigned flags, unsigned choice,
                unsigned nchoices) {
  const struct hd_op *was = &e->op;
  return was->kind == op->kind && was->section == op->section && was->thread == op->thread &&
         was->object == op->object && was->size == op->size && hd_payload_same(was, op) &&
         e->flags == (uint8_t)flags && e->choice == choice && e->nchoices == nchoices;
}

/* What may differ between two operations that are the same: the place, and pointers into the run. */
static void renew(struct hd_op *was, const struct hd_op *op) {
  was->pc = op->pc;
  for (int i = 0; i < 3; i++) was->payload[i] = op->payload[i];
}

int hd_order_known(struct hd_order *t, const struct hd_op *op, unsigned flags, unsigned choice,
                   unsigned nchoices) {
  if (!same(&t->ev[t->n], op, flags, choice, nchoices)) { /* the program is not deterministic */
    hd_order_settle(t);
    return 0;
  }
  renew(&t->ev[t->n++].op, op);
  return 1;
}

void hd_order_resume(struct hd_order *t) {
  if (!t->logging || t->afresh) {
    hd_order_begin(t);
    t->logging = 1;
  } else {
    take_back(t, t->n > t->kept ? t->n : t->kept);
    t->n = 0;
  }
}
