/* bounds.c: schedules with a limited number of preemptions or delays. Runs in the tested process.
 *
 * Preemptions: Musuvathi, Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded Programs",
 * PLDI 2007. A switch away from a thread that could go on counts 1; one away from a thread that waits, has ended or
 * gives way (yield, sleep, a loop that waits) counts nothing.
 *
 * Delays: Emmi, Qadeer, Rakamaric, "Delay-Bounded Scheduling", POPL 2011. There is one deterministic schedule: the
 * running thread goes on while it can; then comes the next one that can, in the order of their numbers, round and
 * round. A delay passes over the thread whose turn it is, so taking the d-th one after it counts d. A thread that
 * gives way is the last in the round.
 *
 * Invariants
 *  1. One thread can always go on at no cost, so an execution that has used up its bound still comes to its end.
 *  2. What the rest of an execution costs depends on the state, the thread that ran last and whether it stays, on
 *     nothing else.
 *  3. status.bounds_done grows only when everything within the bound was covered; status.bound_cut is set whenever a
 *     schedule was left out for its cost, and a search that ends without is complete. */
#include "explore/explore_int.h"

/* Operations before which a thread is glad to let others go first. */
static int gives_way(unsigned kind) {
  return hd_op_is(kind, HD_TRAIT_YIELDS | HD_TRAIT_LATE) || hd_op_effect(kind, 0) == HD_EFF_AWAIT;
}

struct hd_bound_at hd__bound_at(const struct hd_search *s, const struct hd_point *p) {
  struct hd_bound_at at = {(enum hd_bound)s->config->bound_kind, (uint16_t)p->current, 0};
  if (at.kind)
    at.stays = p->current < p->words * 64 && hd_set_has(p->enabled, p->current) &&
               !gives_way(p->op[p->current]->kind);
  return at;
}

/* Members of the set from `from` up to, not including, `to`. */
static unsigned members(const struct hd_set *set, unsigned from, unsigned to) {
  unsigned n = 0;
  for (unsigned i = from; i < to; i++) n += (unsigned)hd_set_has(set, i);
  return n;
}

unsigned hd__bound_turn(const struct hd_bound_at *at, const struct hd_set *enabled, unsigned words) {
  unsigned first = at->current + !at->stays;
  for (unsigned i = first; i < words * 64; i++)
    if (hd_set_has(enabled, i)) return i;
  return hd_set_nth(enabled, 0);
}

unsigned hd__bound_cost(const struct hd_bound_at *at, const struct hd_set *enabled, unsigned words,
                        unsigned thread) {
  if (at->kind == HD_BOUND_PREEMPTIONS) return at->stays && thread != at->current;
  unsigned first = at->current + !at->stays; /* whose turn it is, if it can go on */
  if (thread >= first) return members(enabled, first, thread);
  return members(enabled, first, words * 64) + members(enabled, 0, thread);
}

unsigned hd__bound(const struct hd_search *s) {
  return s->config->bound_iterate ? s->status->bound : s->config->bound;
}

int hd_bound_over(struct hd_search *s, const struct hd_strategy *strategy, int whole) {
  struct hd_status *st = s->status;
  if (!s->config->bound_kind) return 0;
  if (whole) st->bounds_done = hd__bound(s) + 1;
  if (!s->config->bound_iterate || !st->bound_cut) return 0;
  if (s->config->bound_last && st->bound >= s->config->bound_last) return 0;
  st->bound++;
  st->bound_cut = 0;
  strategy->forget(s);
  return 1;
}

void hd_bound_anew(struct hd_search *s) {
  s->status->bound = s->status->bounds_done = s->status->bound_cut = 0;
}
