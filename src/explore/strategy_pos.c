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
 * can be run again without running those before it. */
#include "explore/explore_int.h"

/* The execution under way. */
struct run {
  uint64_t priority[HD_MAX_THREADS]; /* of the pending operation of each thread; 0: to be drawn */
  unsigned nthreads;                 /* entries of it in use */
  unsigned last_flags;
  struct hd_op last; /* executed since the last pick */
};

static int begin(struct hd_search *s) {
  struct run *r = hd__own(s, sizeof *r);
  hd_rng_seed(&s->rng, s->config->seed, s->execution);
  hd__sample_begin(s);
  for (unsigned i = 0; i < r->nthreads; i++) r->priority[i] = 0;
  r->nthreads = 0;
  r->last.kind = HD_OP_NONE;
  return 1;
}

static int races_with_last(const struct run *r, const struct hd_op *op) {
  return r->last.kind != HD_OP_NONE && op->kind != HD_OP_END && hd_dependent(&r->last, r->last_flags, op, 0);
}

static int pick(struct hd_search *s, const struct hd_point *p) {
  struct run *r = s->own;
  int best = -1;
  for (unsigned t = 0; t < r->nthreads; t++)
    if (t != r->last.thread && r->priority[t] && races_with_last(r, p->op[t])) r->priority[t] = 0;
  HD_SET_EACH (t, p->enabled, p->words) {
    if (t >= r->nthreads) r->nthreads = t + 1;
    if (hd__begins(p->op[t])) {
      best = (int)t;
      break;
    }
    if (!r->priority[t]) r->priority[t] = hd_rng_next(&s->rng) | 1;
    if (best < 0 || r->priority[t] > r->priority[best]) best = (int)t;
  }
  r->priority[best] = 0; /* its next operation is another one */
  r->last.kind = HD_OP_NONE;
  return best;
}

static void event(struct hd_search *s, const struct hd_op *op, unsigned flags, unsigned choice,
                  unsigned nchoices) {
  struct run *r = s->own;
  hd__sample_event(s, op, flags, choice, nchoices);
  r->last = *op;
  r->last_flags = flags;
}

static int end(struct hd_search *s, const struct hd_point *p, enum hd_how how) {
  (void)p;
  hd__sample_end(s, how);
  return 1;
}

const struct hd_strategy hd_strategy_pos = {
    .name = "pos", .begin = begin, .pick = pick, .choose = hd__sample_choose, .event = event, .end = end};
