/* strategy_pos.c: partial order sampling. Runs in the tested process.
 *
 * Yuan, Yang, Gu, "Partial Order Aware Concurrency Sampling", CAV 2018, algorithm POS. Every pending operation
 * has a random priority, and the enabled one with the highest goes. After an operation was executed, pending
 * operations that race with it get new priorities: what was lost to one race says nothing about the next. That
 * spreads executions over happens-before classes more evenly than a random walk does, which prefers the classes
 * with many interleavings.
 *
 * Differences from the paper: the end of the process conflicts with everything, but only in that what has not
 * been done by then never will be; its priority is drawn once. Threads are created and begin at once: a creation that
 * loses against 50 operations of others, one after the other, lets its thread meet none of them, and SafeStack
 * (bench/search) then takes five times as many executions. Never complete.
 *
 * The stream of random numbers depends on the seed and the number of the execution only, so an execution
 * can be run again without running those before it. strategy_rff.c follows the same priorities where it has no reason to
 * prefer a thread. */
#include "explore/explore_int.h"

void hd__pos_begin(struct hd_pos *r) {
  for (unsigned i = 0; i < r->nthreads; i++) r->priority[i] = 0;
  r->nthreads = 0;
  r->last.kind = HD_OP_NONE;
}

static int races_with_last(const struct hd_pos *r, const struct hd_op *op) {
  return r->last.kind != HD_OP_NONE && op->kind != HD_OP_END && hd_dependent(&r->last, r->last_flags, op, 0);
}

void hd__pos_look(struct hd_search *s, struct hd_pos *r, const struct hd_point *p) {
  for (unsigned t = 0; t < r->nthreads; t++)
    if (t != r->last.thread && r->priority[t] && races_with_last(r, p->op[t])) r->priority[t] = 0;
  r->last.kind = HD_OP_NONE;
  HD_SET_EACH (t, p->enabled, p->words) {
    if (t >= r->nthreads) r->nthreads = t + 1;
    if (hd__begins(p->op[t])) return;
    if (!r->priority[t]) r->priority[t] = hd_rng_next(&s->rng) | 1;
  }
}

unsigned hd__pos_best(const struct hd_pos *r, const struct hd_point *p, const uint8_t *rank) {
  int best = -1;
  HD_SET_EACH (t, p->enabled, p->words) {
    if (hd__begins(p->op[t])) return t;
    if (best < 0 || (rank && rank[t] > rank[best]) ||
        (r->priority[t] > r->priority[best] && (!rank || rank[t] == rank[best])))
      best = (int)t;
  }
  return (unsigned)best;
}

void hd__pos_picked(struct hd_pos *r, unsigned thread) {
  r->priority[thread] = 0; /* its next operation is another one */
}

void hd__pos_event(struct hd_pos *r, const struct hd_op *op, unsigned flags) {
  r->last = *op;
  r->last_flags = flags;
}

static int begin(struct hd_search *s) {
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  hd__pos_begin(hd__own(s, sizeof(struct hd_pos)));
  return 1;
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  hd__pos_look(s, s->own, p);
  unsigned t = hd__pos_best(s->own, p, NULL);
  hd__pos_picked(s->own, t);
  return (int)t;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  hd__sample_event(s, op, flags, choice, nchoices);
  hd__pos_event(s->own, op, flags);
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)p;
  hd__sample_end(s, how);
  return 1;
}

const struct hd_strategy hd_strategy_pos = {
    .name = "pos", .begin = begin, .pick = pick, .choose = hd__sample_choose, .event = event, .end = end};
