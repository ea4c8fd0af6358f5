/* strategy_dfs.c: every interleaving of visible operations, and every outcome of every choice. Runs in the tested
 * process. The reference that the reductions are checked against; exponential, and meant to be.
 *
 * Two strategies that differ in the order only: `dfs` takes the branches of a node in increasing order, `rdfs` in one
 * that depends on the seed: a bug that hides in the last corner for one seed comes early for another (the baseline
 * "randomised DFS" of the literature).
 *
 * With --states (states.c) a state that was explored before is not explored again.
 *
 * Under a bound (bounds.c) a thread that would cost more than is left is not a branch of the node.
 *
 * Invariant: the branches of a fresh node are drawn from the stream of (seed, number of the execution), so the same
 * execution can be run again. */
#include "explore/walk.h"

static unsigned draw(struct walk *w, unsigned n) { return hd_rng_below(&w->s->rng, n); }

/* All threads that may go, in order; their number. */
static unsigned admitted(struct walk *w, uint32_t k, const struct hd_point *p, uint16_t *thread) {
  unsigned n = 0;
  int outcome;
  HD_SET_EACH (t, p->enabled, p->words)
    if (hd__admits(w, k, t, &outcome)) thread[n++] = (uint16_t)t;
  return n;
}

static int list_all(struct walk *w, uint32_t k, const uint16_t *thread, unsigned n) {
  struct hd_branch *list = NULL;
  for (unsigned i = n; i-- > 1;) list = hd__branch_step(w->unit, thread[i], -1, list);
  w->unit->node[k].list = list;
  return n ? thread[0] : -1;
}

static int first(struct walk *w, uint32_t k, const struct hd_point *p, int *outcome) {
  uint16_t thread[HD_MAX_THREADS];
  (void)outcome;
  return list_all(w, k, thread, admitted(w, k, p, thread));
}

static int first_shuffled(struct walk *w, uint32_t k, const struct hd_point *p, int *outcome) {
  uint16_t thread[HD_MAX_THREADS];
  unsigned n = admitted(w, k, p, thread);
  (void)outcome;
  for (unsigned i = 0; i + 1 < n; i++) {
    unsigned other = i + draw(w, n - i);
    uint16_t t = thread[i];
    thread[i] = thread[other];
    thread[other] = t;
  }
  return list_all(w, k, thread, n);
}

static int conclude(struct walk *w, const struct hd_point *p, enum hd_how how, int above) {
  (void)p, (void)how;
  return hd__add_outcomes(w, above, NULL);
}

static int conclude_shuffled(struct walk *w, const struct hd_point *p, enum hd_how how, int above) {
  (void)p, (void)how;
  return hd__add_outcomes(w, above, draw);
}

static const struct policy in_order = {
    .filter = {&hd__filter_bound, &hd__filter_states, &hd__filter_symmetry},
    .first = first,
    .conclude = conclude};
static const struct policy shuffled = {
    .filter = {&hd__filter_bound, &hd__filter_states, &hd__filter_symmetry},
    .first = first_shuffled,
    .outcome = draw,
    .conclude = conclude_shuffled};

HD_WALK_STRATEGY(dfs, "dfs", in_order);
HD_WALK_STRATEGY(rdfs, "rdfs", shuffled);
