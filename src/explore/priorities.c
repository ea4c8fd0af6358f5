/* priorities.c: what the samplers that follow priorities share (strategy_pct.c, strategy_sites.c). Runs in the tested
 * process.
 *
 * The enabled thread with the highest priority goes; one that is created or begins goes at once (hd__begins). A thread
 * that yields or sleeps gets the lowest priority of all: in a loop that waits for others it would never let them go.
 *
 * Invariant: initial priorities are above 2^32, yields give -1, -2, ..., what a strategy sets is between. (64 random bits:
 * equal ones do not occur in practice, and the lower thread wins.) */
#include "explore/explore_int.h"

void hd__priorities_begin(struct hd_priorities *r) {
  for (unsigned i = 0; i < r->nthreads; i++) r->of[i] = 0;
  r->nthreads = 0;
  r->yields = 0;
}

static int64_t draw(struct hd_search *s, const struct hd_priorities *r, uint64_t site) {
  uint64_t low = hd_rng_next(&s->rng);
  uint64_t high = r->kinds ? hd_mix64(r->kinds ^ site) : low >> 32;
  return (int64_t)((high & 0x7fffffff) << 32 | 1ull << 62 | (low & 0xffffffff));
}

unsigned hd__priorities_highest(struct hd_search *s, struct hd_priorities *r, const struct hd_point *p) {
  int best = -1;
  HD_SET_EACH (t, p->enabled, p->words) {
    if (hd__begins(p->op[t])) return t;
    if (t >= r->nthreads) r->nthreads = t + 1;
    if (!r->of[t]) r->of[t] = draw(s, r, p->op[t]->pc);
    if (best < 0 || r->of[t] > r->of[best]) best = (int)t;
  }
  return (unsigned)best;
}

void hd__priorities_picked(struct hd_priorities *r, const struct hd_op *op, unsigned thread) {
  if (hd_op_is(op->kind, HD_TRAIT_YIELDS)) r->of[thread] = --r->yields;
}
