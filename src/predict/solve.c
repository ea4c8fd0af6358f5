/* solve.c: races by the solver: strict, said and huang (encode.c), the last also by the planner (plan.c). Runs in the
 * supervisor.
 *
 * A trace longer than a window is cut into windows that overlap by half, so that accesses at most half a window apart are
 * in one; pairs of places that are never in one window are counted (`cut`). Of the candidates, those with a common
 * lock, and those that every reordering keeps in order, never reach the solver. Those with the same two places are one
 * query. One solver has the constraints of a window, and each query is added and taken back. */
#include "predict/encode.h"
#include "predict/plan.h"

#include <stdlib.h>
#include <string.h>

#define BUNCH 16 /* pairs of one query, at most */

struct pair {
  uint32_t a, b;
};

struct bunch {
  uint64_t key;
  uint32_t n;
  struct pair pair[BUNCH];
};

enum { SEEN = 1, FILTERED = 2, FOUND = 4, SOLVED = 8, UNKNOWN = 16 }; /* UNKNOWN once for each such answer */
#define MOST_UNKNOWN 4

struct search {
  struct hd__run *run;
  enum hd_detector d;
  enum hd__mode mode;
  struct hd__clocks must;
  struct hd__index state; /* of pairs of places: SEEN, ... */
  struct hd__index bunch_of;
  HD_VEC(struct bunch) bunch;
};

/* ---- candidates of a window ---- */

static void candidate(struct search *x, uint32_t a, uint32_t b, uint32_t location) {
  const struct hd__trace *tr = x->run->tr;
  if (!hd__conflict(tr, a, b)) return;
  uint64_t key = hd__place_pair(hd__place_of(tr, a, location), hd__place_of(tr, b, location));
  uint32_t *state = hd__index_at(&x->state, key);
  if (*state & FOUND) return;
  *state |= SEEN;
  if (hd__held_common(tr, tr->held[a], tr->held[b]) || hd__ordered(&x->must, a, b)) {
    *state |= FILTERED;
    return;
  }
  if (*state / UNKNOWN >= MOST_UNKNOWN) {
    if (*state / UNKNOWN > MOST_UNKNOWN) return;
    *state += UNKNOWN; /* counted once */
    x->run->stats->detector[x->d].skipped++;
    return;
  }
  uint32_t *at = hd__index_at(&x->bunch_of, key);
  if (!*at) {
    hd_vec_push(&x->bunch, ((struct bunch){.key = key}));
    *at = (uint32_t)x->bunch.n;
  }
  struct bunch *y = &x->bunch.v[*at - 1];
  if (y->n < BUNCH)
    y->pair[y->n++] = (struct pair){a, b};
  else
    x->run->stats->detector[x->d].skipped++;
}

/* Pairs whose later access is at or after `fresh`: the others were in the window before. */
static void candidates(struct search *x, uint32_t lo, uint32_t fresh, uint32_t hi) {
  const struct hd__trace *tr = x->run->tr;
  bool *seen = hd_alloc(tr->location.n + 1);
  x->bunch.n = 0;
  hd__index_fini(&x->bunch_of);
  for (uint32_t k = tr->access_at[lo]; k < tr->access_at[hi]; k++) {
    uint32_t location = tr->access[k].location;
    if (seen[location]) continue;
    seen[location] = true;
    const struct hd__location *l = &tr->location.v[location];
    uint32_t end = l->first + l->n, from = hd__accessor_from(tr, location, lo);
    for (uint32_t j = from; j < end && tr->accessor[j] < hi; j++)
      for (uint32_t i = j; tr->accessor[j] >= fresh && i-- > from;)
        candidate(x, tr->accessor[i], tr->accessor[j], location);
  }
  free(seen);
}

/* ---- queries ---- */

static hd_term next_to_each_other(struct search *x, struct hd__encoding *c, struct pair p) {
  hd_term a = c->time[p.a - c->lo], b = c->time[p.b - c->lo], t[6];
  if (x->mode == HD__PREFIX) {
    t[4] = hd__kept(c, p.a, false);
    t[5] = hd__kept(c, p.b, false);
    t[0] = hd_smt_less(c->smt, a, c->now, 0);
    t[1] = hd_smt_less(c->smt, c->now, a, 0);
    t[2] = hd_smt_less(c->smt, b, c->now, 0);
    t[3] = hd_smt_less(c->smt, c->now, b, 0);
    return hd_smt_all(c->smt, t, 6);
  }
  for (int swap = 0; swap < 2; swap++) {
    hd_term one[2] = {hd_smt_less(c->smt, swap ? b : a, swap ? a : b, 1),
                      hd_smt_less(c->smt, swap ? a : b, swap ? b : a, -1)};
    t[swap] = hd_smt_all(c->smt, one, 2);
  }
  return hd_smt_any(c->smt, t, 2);
}

static bool found(struct search *x, struct hd__encoding *c, struct pair p) {
  int64_t a = hd_smt_value(c->smt, c->time[p.a - c->lo]), b = hd_smt_value(c->smt, c->time[p.b - c->lo]);
  if (x->mode != HD__PREFIX) return a == b + 1 || b == a + 1;
  int64_t now = hd_smt_value(c->smt, c->now);
  return a == now && b == now;
}

/* Returns false if the order of the model is not what it should be, which would be a bug of ours. */
static bool predict(struct search *x, struct hd__encoding *c, struct pair pair) {
  struct hd_prediction p = {.kind = HD_PREDICTED_RACE, .detector = hd_detector_name[x->d]};
  uint32_t event[2] = {pair.a, pair.b};
  int64_t a = hd_smt_value(c->smt, c->time[pair.a - c->lo]),
          b = hd_smt_value(c->smt, c->time[pair.b - c->lo]);
  if (b < a) event[0] = pair.b, event[1] = pair.a;
  /* In a whole window, what is at the time of the first of the two may come before it (invariant 1 of encode.c). */
  hd__model_order(c, (a < b ? a : b) + (x->mode != HD__PREFIX), event, 2, &p);
  for (int i = 0; i < 2; i++) hd_vec_push(&p.event, event[i]);
  if (!hd__order_valid(c->tr, p.order.v, p.order.n, event, 2, &p.broken) || !hd__allows(c->tr, p.broken)) {
    hd_prediction_fini(&p);
    return false;
  }
  p.certainty = hd__certainty(p.broken);
  x->run->entries += p.order.n;
  hd_vec_push(&x->run->out->v, p);
  x->run->stats->detector[x->d].predicted++;
  return true;
}

static enum hd_smt_answer by_solver(struct search *x, struct hd__encoding *c, const struct bunch *y) {
  hd_term t[BUNCH];
  hd_smt_push(c->smt);
  for (uint32_t i = 0; i < y->n; i++) t[i] = next_to_each_other(x, c, y->pair[i]);
  hd_smt_require(c->smt, hd_smt_any(c->smt, t, y->n));
  enum hd_smt_answer answer = hd_smt_check(c->smt, x->run->o->query_seconds);
  for (uint32_t i = 0; answer == HD_SMT_SAT && i < y->n; i++) {
    if (!found(x, c, y->pair[i])) continue;
    if (!predict(x, c, y->pair[i])) answer = HD_SMT_UNKNOWN;
    break;
  }
  hd_smt_pop(c->smt);
  return answer;
}

static enum hd_smt_answer by_planner(struct search *x, const uint32_t *done, const uint32_t *upto,
                                     const struct bunch *y, bool keep) {
  enum hd_smt_answer answer = HD_SMT_UNSAT;
  for (uint32_t i = 0; i < y->n; i++) {
    struct hd__goal goal = {{y->pair[i].a, y->pair[i].b}, 2, HD__NONE, HD__NONE, HD__NONE};
    struct hd_prediction p = {.kind = HD_PREDICTED_RACE, .detector = hd_detector_name[x->d]};
    for (int k = 0; k < 2; k++) hd_vec_push(&p.event, goal.next[k]);
    enum hd_smt_answer one = hd__plan_query(x->run, x->d, done, upto, &goal, &p, keep);
    if (one == HD_SMT_SAT) return one;
    if (one == HD_SMT_UNKNOWN) answer = one;
  }
  return answer;
}

static int window(struct search *x, uint32_t lo, uint32_t fresh, uint32_t hi, struct hd_err *err) {
  struct hd_detector_stats *st = &x->run->stats->detector[x->d];
  struct hd__encoding c = {0};
  candidates(x, lo, fresh, hi);
  if (!x->bunch.n) return HD_OK;
  if (hd__run_full(x->run, x->d)) {
    st->skipped += x->bunch.n;
    return HD_OK;
  }
  uint32_t *done = hd__ideal_up_to(x->run->tr, lo), *upto = hd__ideal_up_to(x->run->tr, hi);
  bool may_plan = x->mode == HD__PREFIX, first = may_plan && hd__plans_first(x->run);
  bool plans = may_plan && hd__plans(x->run), solves = !may_plan || hd__solves(x->run);
  int rc = HD_OK;
  for (size_t i = 0; rc == HD_OK && i < x->bunch.n; i++) {
    const struct bunch *y = &x->bunch.v[i];
    if (hd__run_full(x->run, x->d)) {
      st->skipped++;
      continue;
    }
    enum hd_smt_answer answer = first ? by_planner(x, done, upto, y, true) : HD_SMT_UNKNOWN;
    if (solves && answer == HD_SMT_UNKNOWN) {
      if (!c.smt) rc = hd__encoding_init(&c, x->run, &x->must, x->mode, done, upto, false, err);
      if (rc == HD_OK) answer = by_solver(x, &c, y);
    }
    if (plans) answer = hd__agree(x->run, answer, by_planner(x, done, upto, y, answer == HD_SMT_UNKNOWN));
    st->unknown += answer == HD_SMT_UNKNOWN;
    uint32_t *state = hd__index_at(&x->state, y->key);
    if (answer != HD_SMT_UNKNOWN)
      *state |= SOLVED;
    else
      *state += UNKNOWN;
    if (answer == HD_SMT_SAT) *state |= FOUND;
  }
  hd__encoding_fini(&c);
  free(done);
  free(upto);
  return rc;
}

/* ---- the detectors ---- */

#define MANY 1000 /* classes of a location; with more, what windows cut is not counted */

/* Pairs of places that could race, but were in no window. */
static void count_cut(struct search *x) {
  const struct hd__trace *tr = x->run->tr;
  struct hd__classes c;
  uint32_t a, b;
  hd__classes_init(&c, tr);
  for (uint32_t l = 0; l < tr->location.n; l++) {
    hd__classes_of(&c, tr, l, true);
    for (size_t i = 0; i < c.v.n && c.v.n <= MANY && hd_now() < x->run->deadline; i++)
      for (size_t j = i + 1; j < c.v.n; j++) {
        const struct hd__class *p = &c.v.v[i], *q = &c.v.v[j];
        if (!hd__classes_conflict(p, q) || hd__held_common(tr, p->held, q->held)) continue;
        uint32_t *state = hd__index_at(&x->state, hd__place_pair(p->place, q->place));
        if (*state || !hd__unordered(&x->must, &c, p, q, &a, &b)) continue;
        *state = SEEN;
        x->run->stats->detector[x->d].cut++;
      }
  }
  hd__classes_fini(&c);
}

int hd__detect_races(struct hd__run *r, enum hd_detector d, struct hd_err *err) {
  const struct hd__trace *tr = r->tr;
  struct hd_detector_stats *st = &r->stats->detector[d];
  double start = hd_now();
  uint32_t width = r->o->window < 2 ? 2 : r->o->window, half = width / 2;
  struct search x = {.run = r, .d = d};
  x.mode = d == HD_DETECT_STRICT ? HD__STRICT : d == HD_DETECT_SAID ? HD__SAID : HD__PREFIX;
  hd__clocks_init(&x.must, tr, 0);
  int rc = HD_OK;
  for (uint32_t lo = 0, fresh = 0; lo < tr->n && rc == HD_OK; lo += half) {
    uint32_t hi = tr->n - lo < width ? tr->n : lo + width;
    if (hd_now() > r->deadline) {
      st->skipped += (tr->n - lo) / half; /* windows */
      break;
    }
    rc = window(&x, lo, fresh, hi, err);
    fresh = hi;
    if (hi == tr->n) break;
  }
  for (size_t i = 0; i < x.state.cap; i++) {
    if (!x.state.key[i]) continue;
    st->candidates++;
    if (x.state.value[i] & SOLVED)
      st->solved++;
    else if (x.state.value[i] & FILTERED)
      st->filtered++;
  }
  if (tr->n > width && rc == HD_OK) count_cut(&x);
  hd__clocks_fini(&x.must);
  hd__index_fini(&x.state);
  hd__index_fini(&x.bunch_of);
  hd_vec_free(&x.bunch);
  st->seconds += hd_now() - start;
  return rc;
}
