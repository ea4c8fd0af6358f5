/* order_section.c: atomic sections in the order of an execution. Runs in the tested process.
 *
 * While a thread is in a section no other thread runs, so a section is one large step. Its operations are not known
 * when it is entered, so the entry depends on every operation that could conflict with one inside.
 *
 * Invariants
 *  1. The events of a section are contiguous in the trace: its entry, then those marked INSIDE.
 *  2. Entries depend on each other and on every operation with the trait SECTION: those on memory, mutexes,
 *     conditions, once-controls, spin waits, interrupts and the end of the process. So an operation that conflicts
 *     with an event inside is ordered with the entry, and all sections before the last one happen before it.
 *  3. No race begins inside a section, since no other thread can run there; it begins at the entry instead. None ends
 *     inside, because of 2.
 *  4. Operations that are not in 2 but have dependences or may wait lack the trait INSIDE (creating and joining
 *     threads, read-write locks, semaphores, barriers, descriptors): they always leave the section and enter it again.
 *     So whether a section is left depends only on the dependences of its entry. */
#include "model/order_int.h"

static int enters(const struct hd_op *op) { return op->section == HD_SECTION_ENTERS; }

uint32_t hd__section_rival(const struct hd_order *t, const struct hd_tobj *o) {
  if (t->section == HD_NONE) return o->acquire;
  if (o->acquire == HD_NONE) return t->section;
  int free = o->release != HD_NONE && o->release > o->acquire && o->release < t->section;
  return o->acquire < t->section && free ? t->section : o->acquire;
}

uint32_t hd__section_taker(const struct hd_order *t, const struct hd_tobj *o, uint32_t f) {
  if (t->ev[f].op.section != HD_SECTION_INSIDE) return f;
  /* Released and acquired again in one section: for other threads it was never free. */
  return o->release != HD_NONE && o->release > t->section ? o->acquire : t->section;
}

uint32_t hd__section_entry(const struct hd_order *t, uint32_t e) {
  while (e && t->ev[e].op.section == HD_SECTION_INSIDE) e--;
  return e;
}

void hd__meet_section(struct hd_work *w, int waits) {
  const struct hd_order *t = w->t;
  if (t->section == HD_NONE || !hd_meets_sections(w->op) || hd__covered(w, w->clock, t->section_last)) return;
  if (!waits && !hd__covered(w, w->clock, t->section)) hd__add_race(w, t->section, NULL, 0);
  hd__join(w, t->section_last);
}

/* The last event of the thread that an entry depends on and that is not known to happen before it. */
static uint32_t last_of(const struct hd_work *w, uint32_t thread) {
  uint32_t e = w->t->last[thread];
  while (e != HD_NONE && !hd__covered(w, w->clock, e)) {
    const struct hd_ev *v = &w->t->ev[e];
    if (hd_meets_sections(&v->op)) return v->op.section == HD_SECTION_INSIDE ? HD_NONE : e;
    e = v->prev;
  }
  return HD_NONE;
}

void hd__meet_everybody(struct hd_work *w) {
  if (!enters(w->op)) return;
  for (;;) { /* latest first: it may cover others */
    uint32_t latest = HD_NONE;
    for (uint32_t i = 0; i < w->t->nthreads; i++) {
      uint32_t e = i == w->op->thread ? HD_NONE : last_of(w, i);
      if (e != HD_NONE && (latest == HD_NONE || e > latest)) latest = e;
    }
    if (latest == HD_NONE) return;
    hd__meet(w, latest);
  }
}
