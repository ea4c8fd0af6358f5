/* atomicity.c: an access of another thread between two that belong together. Runs in the supervisor.
 *
 * The five orders of three accesses to one variable, the outer two of one thread, that no execution without
 * interleaving explains (Vaziri, Tip and Dolby, "Associating synchronization constraints with data in an object-oriented
 * language", POPL 2006): a write between any two accesses, and a read between two writes. The two are consecutive
 * accesses of their thread to the variable. Not every such order is wrong; only an execution that fails is a finding. */
#include "predict/encode.h"
#include "predict/plan.h"

#include <stdlib.h>

struct triple {
  uint32_t first, other, second;
};

#define TRIED 8u
#define TRIES 4 /* windows in which three places are solved */

struct search {
  struct hd__run *run;
  struct hd__clocks must;
  struct hd__index
      state; /* of three places: 1 seen, 2 waiting for the solver, 4 found, and TRIED for each time */
  HD_VEC(struct triple) candidate;
  HD_VEC(uint64_t) key; /* of each candidate */
};

static bool unserialisable(const struct hd__trace *tr, struct triple c) {
  if (tr->access_kind[c.other] & HD__WRITES) return true;
  return (tr->access_kind[c.first] & HD__WRITES) && (tr->access_kind[c.second] & HD__WRITES);
}

/* Whether the thread releases the lock between two of its events. */
static bool releases(const struct hd__trace *tr, uint32_t from, uint32_t to, uint32_t lock) {
  for (uint32_t pos = tr->pos[from]; pos < tr->pos[to]; pos++) {
    uint32_t e = hd__nth(tr, hd__thread(tr, from), pos);
    if (tr->closes[e] && tr->section.v[tr->closes[e] - 1].lock == lock) return true;
  }
  return false;
}

/* Whether its thread holds a lock from the first to the second that the other has, too. */
static bool guarded(const struct hd__trace *tr, struct triple c) {
  const uint32_t *at = tr->held_at.v, *lock = tr->held_lock.v;
  for (uint32_t i = at[tr->held[c.first]]; i < at[tr->held[c.first] + 1]; i++)
    for (uint32_t k = at[tr->held[c.other]]; k < at[tr->held[c.other] + 1]; k++)
      if (lock[i] >> 1 == lock[k] >> 1 && !(lock[i] & lock[k] & 1) &&
          !releases(tr, c.first, c.second, lock[i] >> 1))
        return true;
  return false;
}

static void consider(struct search *x, struct triple c, uint32_t location) {
  const struct hd__trace *tr = x->run->tr;
  struct hd_detector_stats *st = &x->run->stats->detector[HD_DETECT_ATOMICITY];
  if (hd__thread(tr, c.other) == hd__thread(tr, c.first) || !unserialisable(tr, c)) return;
  if ((tr->access_kind[c.first] | tr->access_kind[c.other] | tr->access_kind[c.second]) &
      (HD__AWAITS | HD__FREES))
    return;
  if (c.first < c.other && c.other < c.second) return; /* that was observed */
  uint64_t places[3] = {hd__place_of(tr, c.first, location), hd__place_of(tr, c.other, location),
                        hd__place_of(tr, c.second, location)};
  uint64_t key = hd__hash(places[0] * 31 + hd__hash(places[1] * 31 + hd__hash(places[2]))) | 1;
  uint32_t *state = hd__index_at(&x->state, key);
  if (*state & 6) return;
  if (*state / TRIED >= TRIES) {
    if (*state / TRIED > TRIES) return;
    *state += TRIED; /* counted once */
    st->skipped++;
    return;
  }
  if (!*state) st->candidates++;
  if (hd__ordered(&x->must, c.other, c.first) || hd__ordered(&x->must, c.second, c.other) || guarded(tr, c)) {
    st->filtered += !*state;
    *state |= 1;
    return;
  }
  *state |= 3;
  hd_vec_push(&x->candidate, c);
  hd_vec_push(&x->key, key);
}

#define NEAR 64 /* accesses of the location, before and after the two, that are looked at */

static void candidates(struct search *x, uint32_t location, uint32_t lo, uint32_t hi) {
  const struct hd__trace *tr = x->run->tr;
  uint32_t *last = hd_alloc((tr->nthreads + 1) * sizeof *last); /* access of each thread, plus 1 */
  uint32_t from = hd__accessor_from(tr, location, lo), to = hd__accessor_from(tr, location, hi);
  for (uint32_t i = from; i < to; i++) {
    uint32_t e = tr->accessor[i];
    unsigned t = hd__thread(tr, e);
    uint32_t begin = i - from > NEAR ? i - NEAR : from, end = to - i > NEAR ? i + NEAR : to;
    for (uint32_t j = begin; last[t] && j < end; j++)
      consider(x, (struct triple){last[t] - 1, tr->accessor[j], e}, location);
    last[t] = e + 1;
  }
  free(last);
}

static struct hd_prediction prediction(struct triple y) {
  struct hd_prediction p = {
      .kind = HD_PREDICTED_ATOMICITY, .detector = hd_detector_name[HD_DETECT_ATOMICITY], .late = 1};
  hd_vec_push(&p.event, y.first);
  hd_vec_push(&p.event, y.other);
  hd_vec_push(&p.event, y.second);
  return p;
}

static enum hd_smt_answer by_solver(struct search *x, struct hd__encoding *c, struct triple y) {
  hd_smt_push(c->smt);
  hd_term other = c->time[y.other - c->lo];
  hd_smt_require(c->smt, hd_smt_less(c->smt, other, c->now, 0));
  hd_smt_require(c->smt, hd_smt_less(c->smt, c->now, other, 0));
  hd_smt_require(c->smt, hd__included(c, y.first));
  hd_smt_require(c->smt, hd_smt_less(c->smt, c->now, c->time[y.second - c->lo], 0));
  hd_smt_require(c->smt, hd__kept(c, y.other, false));
  enum hd_smt_answer answer = hd_smt_check(c->smt, x->run->o->query_seconds);
  if (answer == HD_SMT_SAT) {
    struct hd_prediction p = prediction(y);
    hd__model_order(c, hd_smt_value(c->smt, c->now), &y.other, 1, &p);
    if (hd__order_valid(c->tr, p.order.v, p.order.n, &y.other, 1, &p.broken) && hd__allows(c->tr, p.broken)) {
      p.certainty = hd__certainty(p.broken);
      x->run->entries += p.order.n;
      hd_vec_push(&x->run->out->v, p);
      x->run->stats->detector[HD_DETECT_ATOMICITY].predicted++;
    } else {
      hd_prediction_fini(&p);
      answer = HD_SMT_UNKNOWN;
    }
  }
  hd_smt_pop(c->smt);
  return answer;
}

static enum hd_smt_answer by_planner(struct search *x, const uint32_t *done, const uint32_t *upto,
                                     struct triple y, bool keep) {
  struct hd__goal goal = {{y.other}, 1, y.first, HD__NONE, y.second};
  struct hd_prediction p = prediction(y);
  return hd__plan_query(x->run, HD_DETECT_ATOMICITY, done, upto, &goal, &p, keep);
}

static int solve(struct search *x, struct hd__encoding *c, const uint32_t *done, const uint32_t *upto,
                 struct triple y, uint64_t key, struct hd_err *err) {
  struct hd_detector_stats *st = &x->run->stats->detector[HD_DETECT_ATOMICITY];
  enum hd_smt_answer answer = hd__plans_first(x->run) ? by_planner(x, done, upto, y, true) : HD_SMT_UNKNOWN;
  if (hd__solves(x->run) && answer == HD_SMT_UNKNOWN) {
    int rc = c->smt ? HD_OK : hd__encoding_init(c, x->run, &x->must, HD__PREFIX, done, upto, false, err);
    if (rc != HD_OK) return rc;
    answer = by_solver(x, c, y);
  }
  if (hd__plans(x->run))
    answer = hd__agree(x->run, answer, by_planner(x, done, upto, y, answer == HD_SMT_UNKNOWN));
  st->solved += answer != HD_SMT_UNKNOWN;
  st->unknown += answer == HD_SMT_UNKNOWN;
  uint32_t *state = hd__index_at(&x->state, key);
  *state = (*state & ~2u) + TRIED;
  if (answer == HD_SMT_SAT) *state |= 4;
  return HD_OK;
}

static int window(struct search *x, uint32_t lo, uint32_t hi, struct hd_err *err) {
  const struct hd__trace *tr = x->run->tr;
  bool *seen = hd_alloc(tr->location.n + 1);
  x->candidate.n = x->key.n = 0;
  for (uint32_t k = tr->access_at[lo]; k < tr->access_at[hi]; k++) {
    uint32_t l = tr->access[k].location;
    if (!seen[l]) candidates(x, l, lo, hi);
    seen[l] = true;
  }
  free(seen);
  if (!x->candidate.n) return HD_OK;
  struct hd__encoding c = {0};
  uint32_t *done = hd__ideal_up_to(tr, lo), *upto = hd__ideal_up_to(tr, hi);
  int rc = HD_OK;
  for (size_t i = 0; i < x->candidate.n && rc == HD_OK; i++) {
    if (hd__run_full(x->run, HD_DETECT_ATOMICITY))
      x->run->stats->detector[HD_DETECT_ATOMICITY].skipped++;
    else
      rc = solve(x, &c, done, upto, x->candidate.v[i], x->key.v[i], err);
  }
  hd__encoding_fini(&c);
  free(done);
  free(upto);
  return rc;
}

int hd__detect_atomicity(struct hd__run *r, struct hd_err *err) {
  const struct hd__trace *tr = r->tr;
  double start = hd_now();
  struct search x = {.run = r};
  uint32_t width = r->o->window < 2 ? 2 : r->o->window;
  hd__clocks_init(&x.must, tr, 0);
  int rc = HD_OK;
  for (uint32_t lo = 0; lo < tr->n && rc == HD_OK; lo += width / 2) {
    uint32_t hi = tr->n - lo < width ? tr->n : lo + width;
    if (hd_now() > r->deadline) {
      r->stats->detector[HD_DETECT_ATOMICITY].skipped += (tr->n - lo) / (width / 2); /* windows */
      break;
    }
    rc = window(&x, lo, hi, err);
    if (hi == tr->n) break;
  }
  hd__clocks_fini(&x.must);
  hd__index_fini(&x.state);
  hd_vec_free(&x.candidate);
  hd_vec_free(&x.key);
  r->stats->detector[HD_DETECT_ATOMICITY].seconds += hd_now() - start;
  return rc;
}
