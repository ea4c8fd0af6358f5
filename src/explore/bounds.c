/* bounds.c: the filter of schedules with a limited number of preemptions or delays. Runs in the tested process.
 *
 * Preemptions: Musuvathi, Qadeer, "Iterative Context Bounding for Systematic Testing of Multithreaded Programs",
 * PLDI 2007. A switch away from a thread that could go on counts 1; one away from a thread that waits, has ended or
 * gives way (yield, sleep, a loop that waits) counts nothing.
 *
 * Delays: Emmi, Qadeer, Rakamaric, "Delay-Bounded Scheduling", POPL 2011. There is one deterministic schedule: the
 * running thread goes on while it can; then comes the next one that can, in the order of hd_numbers_before, round and
 * round. A delay passes over the thread whose turn it is, so taking the d-th one after it counts d. A thread that
 * gives way is the last in the round.
 *
 * Soundness. What is left out is exactly what costs more than the bound, and the search says so (invariant 3). A filter
 * that leaves out a branch because another one covers it must know that the other one costs no more: sleep sets do not.
 *
 * Invariants
 *  1. One thread can always go on at no cost, so an execution that has used up its bound can still finish.
 *  2. What the rest of an execution costs depends on the state, the thread that ran last and whether it stays, on
 *     nothing else.
 *  3. shared.bounds_done grows only when everything within the bound was covered; shared.bound_cut is set whenever a
 *     schedule was left out for its cost, and a search that ends without is complete. It names the search and the
 *     bound, so that an execution of a search that was restarted meanwhile sets nothing. */
#include "explore/walk.h"

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

/* Whether the turn of thread a comes before that of thread b, from the thread that ran last on. */
static int sooner(const struct hd_search *s, const struct hd_bound_at *at, unsigned a, unsigned b) {
  int past_a = hd_numbers_before(s->numbers, a, at->current) || (a == at->current && !at->stays);
  int past_b = hd_numbers_before(s->numbers, b, at->current) || (b == at->current && !at->stays);
  return past_a != past_b ? past_b : hd_numbers_before(s->numbers, a, b);
}

unsigned hd__bound_turn(const struct hd_search *s, const struct hd_bound_at *at, const struct hd_set *enabled,
                        unsigned words) {
  unsigned next = HD_MAX_THREADS;
  HD_SET_EACH (t, enabled, words)
    if (next == HD_MAX_THREADS || sooner(s, at, t, next)) next = t;
  return next;
}

unsigned hd__bound_cost(const struct hd_search *s, const struct hd_bound_at *at, const struct hd_set *enabled,
                        unsigned words, unsigned thread) {
  if (at->kind == HD_BOUND_PREEMPTIONS) return at->stays && thread != at->current;
  unsigned n = 0;
  HD_SET_EACH (t, enabled, words) n += (unsigned)sooner(s, at, t, thread);
  return n;
}

unsigned hd__bound(const struct hd_search *s) { return hd_shared_bound(s->shared, s->config); }

/* ---- the filter ---- */

static int active(const struct hd_search *s) { return s->config->bound_kind != HD_BOUND_NONE; }

static void enter(struct walk *w, uint32_t k, const struct hd_point *p, int fresh) {
  struct bound_node *b = hd__bound_node(w, k);
  (void)fresh;
  b->at = hd__bound_at(w->s, p);
  b->words = (uint16_t)p->words;
  for (unsigned i = 0; i < p->words; i++) b->enabled.w[i] = p->enabled->w[i];
  b->used = 0;
  if (!k) return;
  const struct bound_node *up = hd__bound_node(w, k - 1);
  b->used =
      up->used + hd__bound_cost(w->s, &up->at, &up->enabled, up->words, w->unit->node[k - 1].pick.thread);
}

static int admits(struct walk *w, uint32_t k, unsigned thread, int *outcome) {
  const struct bound_node *b = hd__bound_node(w, k);
  (void)outcome;
  if (b->used + hd__bound_cost(w->s, &b->at, &b->enabled, b->words, thread) <= hd__bound(w->s)) return 1;
  w->cut = hd_shared_cut(w->s->shared, w->s->config);
  return 0;
}

const struct filter hd__filter_bound = {.id = FILTER_BOUND,
                                        .record = sizeof(struct bound_node),
                                        .active = active,
                                        .enter = enter,
                                        .admits = admits};

/* ---- one bound after the other ---- */

int hd_bound_cut(const struct hd_search *s) {
  return s->shared->bound_cut == hd_shared_cut(s->shared, s->config);
}

/* pre: the lock is held. */
static int next_bound(struct hd_search *s, const struct hd_strategy *strategy) {
  struct hd_shared *sh = s->shared;
  if (!sh->over) return 1; /* another worker has begun the next one */
  if (!sh->partial) sh->bounds_done = hd__bound(s) + 1;
  if (!s->config->bound_iterate || !hd_bound_cut(s)) return 0;
  if (s->config->bound_last && sh->bound >= s->config->bound_last) return 0;
  strategy->forget(s);
  sh->bound++;
  __atomic_store_n(&sh->over, 0, __ATOMIC_RELEASE);
  return 1;
}

int hd_bound_over(struct hd_search *s, const struct hd_strategy *strategy) {
  if (!s->config->bound_kind) return 0;
  hd_search_lock(s);
  int more = next_bound(s, strategy);
  hd_search_unlock(s);
  return more;
}

void hd_bound_restart(struct hd_search *s) {
  struct hd_shared *sh = s->shared;
  sh->bound = sh->bounds_done = sh->partial = 0;
  sh->bound_cut = 0;
}
