/* order_await.c: waiting loops in the order of an execution. Runs in the tested process.
 *
 * A loop that has read the same values once more, and has done nothing else, waits until one of them is another. Its
 * next operation has a guard: it is enabled while the value at one of the places differs from the one read there. It is
 * a wait of its own (SPINWAIT), which reads all the places at once, or, where the loop consists of one operation on one
 * place, that operation (a compare-and-swap, an exchange).
 *
 * Invariants
 *  1. The operation depends on everything that changes one of its places. What changes one place is totally ordered, so
 *     its value after a part of the execution that is closed under happens-before is the one after the last change in it.
 *  2. An event e races with the operation when the guard is open without e and what happened after e. If it is not,
 *     something earlier may be: whoever closed it before e opened it again, as with a lock. */
#include "model/memory.h"
#include "model/order_int.h"

int hd__open_without(const struct hd_order *t, const struct hd_guard *g, uint32_t e) {
  uint32_t known = 0; /* places */
  for (const struct hd_change *c = g->last; c; c = c->before) {
    uint32_t i = c->event - 1;
    if ((known >> c->place & 1) || i == e || (i > e && hd_order_before(t, e, i))) continue;
    known |= 1u << c->place;
    if (c->differs) return 1;
  }
  return 0;
}

/* The part of granule g that [addr, addr + size) has. */
static uint8_t mask_of(uint64_t g, uint64_t addr, uint64_t size) {
  unsigned mask = 0xff;
  if (addr > g) mask &= 0xffu << (addr - g);
  if (addr + size < g + 8) mask &= 0xffu >> (g + 8 - addr - size);
  return (uint8_t)mask;
}

/* The last access before event `at` that conflicts with one to these bytes and is not known to happen before. */
static uint32_t last_access(const struct hd_work *w, const uint32_t *known, uint64_t granule, uint8_t mask,
                            int write, uint32_t at) {
  for (const struct hd_link *l = hd__tobj(w->t, granule * 4 + 3)->list; l; l = l->next) {
    if (!(l->mask & mask)) continue;
    int covered = hd__covered(w, known, l->ev);
    if (l->ev < at && !covered && (write || l->write)) return l->ev;
    if (covered && l->write && hd_memory_hides(l->mask, mask)) break;
  }
  return HD_NONE;
}

static uint32_t later(uint32_t a, uint32_t b) { return a == HD_NONE ? b : b == HD_NONE || b < a ? a : b; }

/* The last event before `at` that the operation depends on and that is not known to happen before. */
static uint32_t last_rival(const struct hd_work *w, const struct hd_guard *g, const uint32_t *known,
                           uint32_t at) {
  uint32_t last = HD_NONE;
  int write = hd_op_does(w->op->kind, w->flags, HD_EFF_CHANGES);
  for (const struct hd_change *c = g->last; c; c = c->before)
    if (c->event <= at && !hd__covered(w, known, c->event - 1)) last = later(last, c->event - 1);
  for (uint32_t i = 0; i < g->nplaces; i++) {
    uint64_t addr = g->place[i].addr, size = g->place[i].size;
    for (uint64_t k = addr & ~7ull; k < addr + size; k += 8)
      last = later(last, last_access(w, known, k, mask_of(k, addr, size), write, at));
  }
  uint32_t s = w->t->section;
  if (s != HD_NONE && s < at && hd_meets_sections(w->op) && !hd__covered(w, known, s)) last = later(last, s);
  return last;
}

/* It reads, or changes, all its places. A look at a lock is ended by the next taking of it. */
static void add_accesses(struct hd_work *w, const struct hd_guard *g) {
  int write = hd_op_does(w->op->kind, w->flags, HD_EFF_CHANGES);
  for (uint32_t i = 0; i < g->nplaces; i++) {
    uint64_t addr = g->place[i].addr, size = g->place[i].size;
    for (uint64_t k = addr & ~7ull; k < addr + size; k += 8)
      hd__access(w, hd__tobj(w->t, k * 4 + 3), mask_of(k, addr, size), write);
    if (hd_op_effect(w->op->kind, 0) != HD_EFF_AWAIT) continue;
    struct hd_tobj *o = hd__tobj(w->t, addr * 4 + 1);
    struct hd_link *l = hd_order_get(w->t, sizeof *l);
    *l = (struct hd_link){.ev = w->f, .next = o->spins};
    o->spins = l;
  }
}

void hd__on_guard(struct hd_work *w, const struct hd_guard *g) {
  struct hd_order *t = w->t;
  uint32_t *known = hd_order_get(t, t->threads_max * sizeof *known), at = w->f == HD_NONE ? t->n : w->f;
  for (uint32_t i = 0; i < t->threads_max; i++) known[i] = w->pred[i];
  while ((at = last_rival(w, g, known, at)) != HD_NONE) { /* latest first (invariant 2) */
    uint32_t e = hd__section_entry(t, at);
    hd__join(w, at);
    if (!hd__open_without(t, g, e)) continue;
    hd__add_race(w, e, NULL, 0);
    const uint32_t *c = t->ev[at].clock;
    for (uint32_t i = 0; i < t->threads_max; i++)
      if (c[i] > known[i]) known[i] = c[i];
  }
  if (w->f != HD_NONE) add_accesses(w, g);
}
